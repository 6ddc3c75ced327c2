package harbour

import "testing"

func TestBerth(t *testing.T) {
	for _, tt := range []struct{ n, berths, want int }{{1, 3, 1}, {3, 3, 3}, {4, 3, 1}} {
		if got := Berth(tt.n, tt.berths); got != tt.want {
			t.Errorf("Berth(%d, %d) = %d, want %d", tt.n, tt.berths, got, tt.want)
		}
	}
}
