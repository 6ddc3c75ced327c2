package builtin

import (
	"context"
	"time"

	"wield/tool"
)

type clockInput struct {
	Zone string `json:"timezone,omitempty" jsonschema:"name of a time zone, such as Europe/Berlin; that of this machine if it is left out"`
}

type moment struct {
	Time    string `json:"time"` // 15:04:05
	Date    string `json:"date"` // 2006-01-02
	Weekday string `json:"weekday"`
	Zone    string `json:"timezone"`
	ISO     string `json:"iso"` // RFC 3339
	Unix    int64  `json:"unix"`
}

type day struct {
	Date    string `json:"date"` // 2006-01-02
	Weekday string `json:"weekday"`
	Week    int    `json:"week"`        // ISO 8601
	Of      int    `json:"day_of_year"` // from 1
}

func (in clockInput) now(o *Options) (time.Time, error) {
	now := o.Now()
	if in.Zone == "" {
		return now, nil
	}
	zone, err := time.LoadLocation(in.Zone)
	if err != nil || in.Zone == "Local" {
		return now, tool.Errorf(tool.ErrInvalid, "timezone: no zone %q; a zone is called Europe/Berlin or UTC, for example", in.Zone)
	}
	return now.In(zone), nil
}

func currentTime(o *Options) *tool.Tool {
	t := tool.Func("get_current_time", `Tell the time of day and the date, here or in a time zone. Example: {"timezone": "Asia/Tokyo"}`,
		func(_ context.Context, in clockInput) (moment, error) {
			now, err := in.now(o)
			if err != nil {
				return moment{}, err
			}
			zone, _ := now.Zone()
			return moment{now.Format(time.TimeOnly), now.Format(time.DateOnly), now.Weekday().String(), zone, now.Format(time.RFC3339), now.Unix()}, nil
		})
	t.Facts = tool.Facts{ReadOnly: true}
	return t
}

func currentDate(o *Options) *tool.Tool {
	t := tool.Func("get_current_date", `Tell today's date, here or in a time zone. Example: {"timezone": "UTC"}`,
		func(_ context.Context, in clockInput) (day, error) {
			now, err := in.now(o)
			if err != nil {
				return day{}, err
			}
			_, week := now.ISOWeek()
			return day{now.Format(time.DateOnly), now.Weekday().String(), week, now.YearDay()}, nil
		})
	t.Facts = tool.Facts{ReadOnly: true}
	return t
}
