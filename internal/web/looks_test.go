package web_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// How alike two pictures must be: at most a share of their pixels may differ, each by more than a little in one of
// its channels. The little is what is lost when a picture is kept with few colours.
const (
	alikeShare  = 0.005
	alikeColour = 24 // of 255
)

// differs returns the share of the pixels in which two pictures differ. Those of different sizes have nothing in
// common.
func differs(got, want image.Image) float64 {
	size := got.Bounds().Size()
	if size != want.Bounds().Size() {
		return 1
	}
	g, w, n := plainly(got), plainly(want), 0
	for y := range size.Y {
		a, b := g.Pix[y*g.Stride:][:4*size.X], w.Pix[y*w.Stride:][:4*size.X]
		if bytes.Equal(a, b) { // as most lines are
			continue
		}
		for i := 0; i < len(a); i += 4 {
			if apart([3]uint8(a[i:]), [3]uint8(b[i:])) > alikeColour {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, size.X*size.Y))
}

// difference is a picture of where two pictures of one size differ: what is alike is pale, what is not is red.
func difference(got, want image.Image) *image.RGBA {
	g, w := plainly(got), plainly(want)
	shown := image.NewRGBA(g.Bounds())
	for y := range shown.Rect.Dy() {
		for x := range shown.Rect.Dx() {
			c := color.RGBA{R: 220, A: 255}
			if a := rgb(g, x, y); g.Rect == w.Rect && apart(a, rgb(w, x, y)) <= alikeColour {
				c = color.RGBA{R: 192 + a[0]/4, G: 192 + a[1]/4, B: 192 + a[2]/4, A: 255}
			}
			shown.SetRGBA(x, y, c)
		}
	}
	return shown
}

// plainly returns a picture with its pixels as they are, from the origin on.
func plainly(m image.Image) *image.RGBA {
	if m, ok := m.(*image.RGBA); ok && m.Rect.Min == (image.Point{}) {
		return m
	}
	to := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(to, to.Rect, m, m.Bounds().Min, draw.Src)
	return to
}

func rgb(m *image.RGBA, x, y int) [3]uint8 { return [3]uint8(m.Pix[m.PixOffset(x, y):]) }

// apart is the largest difference of two colours in one channel.
func apart(a, b [3]uint8) (most int) {
	for i := range a {
		d := int(a[i]) - int(b[i])
		most = max(most, d, -d)
	}
	return most
}

// few returns a picture in at most 256 colours: those that stand in for most pixels, each for what is close to it.
func few(from image.Image) *image.Paletted {
	m := plainly(from)
	b := m.Rect
	used := map[[3]uint8]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			used[rgb(m, x, y)]++
		}
	}
	var palette [][3]uint8
	var place map[[3]uint8]uint8
	for reach := 2; ; reach *= 2 {
		var room bool
		if palette, place, room = choose(used, reach); room {
			break
		}
	}
	out := image.NewPaletted(b, nil)
	for _, c := range palette {
		out.Palette = append(out.Palette, color.RGBA{c[0], c[1], c[2], 255})
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetColorIndex(x, y, place[rgb(m, x, y)])
		}
	}
	return out
}

// surface is of how many pixels one colour has to be to count as a surface rather than as the edge of a letter.
const surface = 250

// choose gives the colours that are used places in a palette, the most used first; what is no further apart than
// reach shares one, unless it fills surfaces. It reports whether there was room.
func choose(used map[[3]uint8]int, reach int) (palette [][3]uint8, place map[[3]uint8]uint8, room bool) {
	colours := slices.SortedFunc(maps.Keys(used), func(a, b [3]uint8) int {
		return cmp.Or(used[b]-used[a], slices.Compare(a[:], b[:]))
	})
	place = map[[3]uint8]uint8{}
	for _, c := range colours {
		best, how := -1, reach+1
		for i, p := range palette {
			if d := apart(c, p); d < how {
				best, how = i, d
			}
		}
		if best < 0 || how > 0 && used[c] >= surface && len(palette) < 128 {
			if len(palette) == 256 {
				return nil, nil, false
			}
			best = len(palette)
			palette = append(palette, c)
		}
		place[c] = uint8(best)
	}
	return palette, place, true
}

// readPNG reads a picture from a file.
func readPNG(file string) (image.Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}

// writePNG writes a picture to a file, as small as it gets.
func writePNG(file string, m image.Image) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(f, m); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// The font of the pictures, as Debian's package fonts-dejavu-core has it. Another version of it is another font.
const (
	fontPackage = "fonts-dejavu-core"
	fontDir     = "/usr/share/fonts/truetype/dejavu"
)

var fontFiles = []string{"DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"}

// fontSum returns the SHA-256 of the font's files, one after the other, or why there are none.
func fontSum() (string, error) {
	h := sha256.New()
	for _, name := range fontFiles {
		text, err := os.ReadFile(filepath.Join(fontDir, name))
		if err != nil {
			return "", fmt.Errorf("the package %s is not here: %w", fontPackage, err)
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pinFont makes a browser see one font and nothing else of what the machine has: a configuration of fontconfig in a
// directory, and the variables that name it. Where the font is not there, there are none.
func pinFont(dir string) ([]string, error) {
	if _, err := fontSum(); err != nil {
		return nil, nil // the pictures are not compared then, which says so
	}
	fonts := filepath.Join(dir, "fonts")
	if err := os.MkdirAll(filepath.Join(fonts, "cache"), 0o700); err != nil {
		return nil, err
	}
	for _, name := range fontFiles {
		if err := os.Symlink(filepath.Join(fontDir, name), filepath.Join(fonts, name)); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(fonts, "fonts.conf")
	return []string{"FONTCONFIG_FILE=" + file, "FONTCONFIG_PATH=" + fonts, "TZ=UTC", "LANG=en_US.UTF-8",
			"LC_ALL=en_US.UTF-8", "LANGUAGE=en_US"},
		os.WriteFile(file, []byte(`<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir>`+fonts+`</dir><cachedir>`+filepath.Join(fonts, "cache")+`</cachedir>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match target="pattern"><edit name="antialias" mode="assign"><bool>true</bool></edit><edit name="hinting" mode="assign"><bool>false</bool></edit>
<edit name="hintstyle" mode="assign"><const>hintnone</const></edit><edit name="rgba" mode="assign"><const>none</const></edit></match>
<match target="font"><edit name="antialias" mode="assign"><bool>true</bool></edit><edit name="hinting" mode="assign"><bool>false</bool></edit>
<edit name="hintstyle" mode="assign"><const>hintnone</const></edit><edit name="rgba" mode="assign"><const>none</const></edit></match>
</fontconfig>
`), 0o600)
}
