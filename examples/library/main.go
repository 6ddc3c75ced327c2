// Command library gives a model a tool and asks it a question.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"wield"
	"wield/model/openai"
	"wield/tool"
)

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

func weather(_ context.Context, p place) (string, error) {
	return "8 degrees and raining in " + p.City, nil
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: library URL MODEL QUESTION")
	}
	model := openai.New(openai.Options{URL: os.Args[1], Model: os.Args[2]})
	agent, err := wield.New(model, tool.Func("get_weather", "Gets the weather of a city.", weather))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(context.Background(), os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
