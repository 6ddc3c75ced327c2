// Package clock holds tools that tell the time: get_current_time and get_current_date.
package clock

import (
	"context"
	"time"

	"wield/tool"
)

// A Clock tells the time. The zero value is that of the machine.
type Clock struct {
	Now func() time.Time // nil: time.Now
}

// timeIn holds the arguments of both tools.
type timeIn struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA time zone, such as Europe/Oslo. Default: local time zone"`
}

// A moment is the result of get_current_time.
type moment struct {
	Time     string `json:"time"` // RFC 3339
	Timezone string `json:"timezone"`
	Unix     int64  `json:"unix"`
}

// A day is the result of get_current_date.
type day struct {
	Date     string `json:"date"` // year, month and day
	Weekday  string `json:"weekday"`
	Week     int    `json:"week"` // of the year, by ISO 8601
	Timezone string `json:"timezone"`
}

// Tools returns both tools.
func (c Clock) Tools() []*tool.Tool {
	list := []*tool.Tool{
		tool.Func("get_current_time",
			`Returns the current date and time in a time zone. Example: {"timezone":"Europe/Oslo"}`,
			func(_ context.Context, in timeIn) (moment, error) {
				now, err := c.now(in.Timezone)
				return moment{now.Format(time.RFC3339), zoneOf(now), now.Unix()}, err
			}),
		tool.Func("get_current_date",
			`Returns today's date, weekday and day of the year in a time zone. Example: {"timezone":"Asia/Tokyo"}`,
			func(_ context.Context, in timeIn) (day, error) {
				now, err := c.now(in.Timezone)
				_, week := now.ISOWeek()
				return day{now.Format(time.DateOnly), now.Weekday().String(), week, zoneOf(now)}, err
			}),
	}
	for _, t := range list {
		t.Facts.ReadOnly, t.Style, t.Source = true, tool.StyleLLF, "builtin"
	}
	return list
}

func (c Clock) now(zone string) (time.Time, error) {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	if zone == "" {
		return now(), nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, tool.Errorf(tool.ErrInvalid,
			"There is no time zone %q; write one like Europe/Oslo or UTC", zone)
	}
	return now().In(location), nil
}

// zoneOf names the time zone. That of the machine often has no other name than the short one.
func zoneOf(t time.Time) string {
	if t.Location() != time.Local {
		return t.Location().String()
	}
	name, _ := t.Zone()
	return name
}
