package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// measureStart prints the memory of a service that nobody has used.
func (b *bench) measureStart() error {
	fmt.Printf("resident after the start: %.0f MB\n", mb(b.wield.resident()))
	return nil
}

// measureRest prints the memory after load and some time without any.
func (b *bench) measureRest() error {
	c := newClient(b.wield.url, "", request("fast", 20, true))
	c.drive(16, true, 5*time.Second, 0)
	c.close()
	fmt.Printf("resident under load: %.0f MB\n", mb(b.wield.resident()))
	time.Sleep(75 * time.Second) // it gives memory back when nobody has asked for anything for half a minute
	fmt.Printf("resident more than a minute after: %.0f MB\n", mb(b.wield.resident()))
	return nil
}

func mb(bytes int) float64 { return float64(bytes) / 1e6 }

// measureIdle prints the memory with silent streams.
func (b *bench) measureIdle() error {
	var open []io.Closer
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
	defer transport.CloseIdleConnections()
	body := request("silent", 1, true)
	last, n := b.wield.resident(), 0
	fmt.Println("| silent streams | resident | each more |\n|---:|---:|---:|")
	for _, want := range b.idle {
		if err := b.silence(&open, transport, body, want-n); err != nil {
			return err
		}
		time.Sleep(5 * time.Second)
		now := b.wield.resident()
		fmt.Printf("| %d | %.0f MB | %.0f KB |\n", want, mb(now), float64(now-last)/1e3/float64(want-n))
		last, n = now, want
	}
	return nil
}

// silence opens so many streams more, each up to its first byte.
func (b *bench) silence(open *[]io.Closer, transport *http.Transport, body []byte, more int) error {
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	places := make(chan struct{}, 64)
	for range more {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			answer, err := (&http.Client{Transport: transport}).Post(b.wield.url+"/v1/chat/completions",
				"application/json", bytes.NewReader(body))
			if err == nil && answer.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", answer.StatusCode)
			}
			if err == nil {
				_, err = io.ReadFull(answer.Body, make([]byte, 1))
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			*open = append(*open, answer.Body)
		})
	}
	all.Wait()
	return failed
}
