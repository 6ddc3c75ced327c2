package sandbox

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"testing"
	"time"
)

// TestLateOrder checks that a supervisor gets an order when the time for its start is long over.
func TestLateOrder(t *testing.T) {
	read, control, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	stat, told, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	tree := &supervisorTree{supervisor: self, control: control, status: stat, lines: bufio.NewReader(stat)}
	defer tree.close()
	told.WriteString(`{"started":{"pid":1}}` + "\n")
	deadline := time.Now().Add(time.Second)
	if st, err := tree.order(&spec{ID: t.Name()}, deadline); err != nil || st.Started == nil {
		t.Fatalf("%+v, %v", st, err)
	}
	time.Sleep(time.Until(deadline.Add(time.Millisecond)))
	tree.stop(0)
	tree.closeControl()
	got, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if got = got[4+binary.LittleEndian.Uint32(got):]; string(got) != string(rune(orderStop)) {
		t.Errorf("the orders are %q", got)
	}
}
