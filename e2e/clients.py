"""The Python package openai, through the tool rounds of matrix.test.js: prints one JSON line a case.

usage: clients.py BASE_URL USES  (JSON: how and model of each)
"""

import json
import sys
import traceback

from openai import OpenAI

CITIES = ["Paris", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Quito", "Seoul", "Turin", "Accra"]
TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
    },
    {"name": "get_time", "description": "The time, now.", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
]


def execute(asked, name, arguments):
    """Runs a tool; an error becomes the result."""
    args = json.loads(arguments)
    asked.append((name, args.get("city", "")))
    if name == "get_time":
        assert args == {}, args
        return "half past nine"
    if args["city"] == "Atlantis":
        return "Error: Atlantis is not on the map"
    return f"mackerel over {args['city']}"


def chat(client, model, asked, stream):
    messages = []
    tools = [{"type": "function", "function": tool} for tool in TOOLS]

    def ask():
        if not stream:
            return client.chat.completions.create(model=model, messages=messages, tools=tools)
        with client.chat.completions.stream(model=model, messages=messages, tools=tools) as events:
            for _ in events:
                pass
            return events.get_final_completion()

    def say(text):
        messages.append({"role": "user", "content": text})
        while True:
            choice = ask().choices[0]
            message = choice.message
            messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            assert choice.finish_reason == ("tool_calls" if message.tool_calls else "stop"), choice.finish_reason
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                result = execute(asked, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    return say


def responses(stored):
    def session(client, model, asked, stream):
        history = []
        previous = None
        tools = [{"type": "function", "strict": False, **tool} for tool in TOOLS]

        def ask(**body):
            if not stream:
                return client.responses.create(model=model, tools=tools, **body)
            with client.responses.stream(model=model, tools=tools, **body) as events:
                for number, event in enumerate(events):
                    assert event.sequence_number == number, event
                return events.get_final_response()

        def say(text):
            nonlocal previous, history
            new = [{"role": "user", "content": text}]
            while True:
                if not stored:
                    response = ask(input=history + new, store=False)
                elif previous:
                    response = ask(input=new, previous_response_id=previous)
                else:
                    response = ask(input=new)
                assert response.status == "completed", response.status
                previous = response.id
                history += new + [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
                calls = [item for item in response.output if item.type == "function_call"]
                if not calls:
                    return response.output_text
                new = [{"type": "function_call_output", "call_id": c.call_id, "output": execute(asked, c.name, c.arguments)} for c in calls]

        return say

    return session


def one(say, asked):
    assert "mackerel over Paris" in say("What's the weather in Paris?")
    assert asked == [("get_weather", "Paris")], asked


def parallel(say, asked):
    assert "mackerel over" in say("Please compare Rome and Oslo")
    assert sorted(asked) == [("get_weather", "Oslo"), ("get_weather", "Rome")], asked


def no_arguments(say, asked):
    assert "half past nine" in say("what time is it")
    assert asked == [("get_time", "")], asked


def error(say, asked):
    answer = say("What's the weather in Atlantis?")
    assert "That failed" in answer and "not on the map" in answer, answer


def ten_turns(say, asked):
    for city in CITIES:
        assert f"mackerel over {city}" in say(f"What's the weather in {city}?")
    assert [city for _, city in asked] == CITIES, asked
    answer = say("how long have we talked")
    assert "twenty answers so far" in answer, answer


CASES = {
    "one call": one,
    "parallel calls": parallel,
    "a call without arguments": no_arguments,
    "an error as the result": error,
    "ten turns": ten_turns,
}


def main():
    client = OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0, timeout=30)
    sessions = {"chat completions": chat, "responses with the history": responses(False), "responses with previous_response_id": responses(True)}
    for use in json.loads(sys.argv[2]):
        for stream in (False, True):
            for what, case in CASES.items():
                asked, fault = [], None
                try:
                    case(sessions[use["how"]](client, use["model"], asked, stream), asked)
                except Exception:  # whatever it is, it is the result
                    fault = traceback.format_exc()
                print(json.dumps({**use, "stream": stream, "what": what, "fault": fault}), flush=True)


main()
