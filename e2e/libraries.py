"""Python's libraries over the fronts, each through the tool rounds of clients.scenario.yaml: prints each case as a line of JSON.

usage: libraries.py URL CASES  (without /v1; JSON: client, how, model and stream of each)
"""

import asyncio
import concurrent.futures
import json
import os
import sys
import traceback

URL = sys.argv[1]
BASE = URL + "/v1"
os.environ.update(OPENAI_API_KEY="any", OPENAI_BASE_URL=BASE, ANTHROPIC_API_KEY="any", ANTHROPIC_BASE_URL=URL, OPENAI_AGENTS_DISABLE_TRACING="1",
                  LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION", DO_NOT_TRACK="1")

ONE = "What's the weather in Paris?"
BOTH = "Please compare Rome and Oslo"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"type": "function", "function": {"name": "get_weather", "description": "The weather in a city, now.", "parameters": SCHEMA}}


def get_weather(city: str) -> str:
    """The weather in a city, now.

    Args:
        city: Name of the city.
    """
    return f"mackerel over {city}"


def expect(answers):
    """Both rounds end with what the tool said."""
    one, both = answers
    assert "mackerel over Paris" in one, one
    assert "mackerel over Rome" in both or "mackerel over Oslo" in both, both


def anthropic(model, stream):
    import anthropic as sdk

    client = sdk.Anthropic(max_retries=0)
    tool = {"name": "get_weather", "description": "The weather in a city, now.", "input_schema": SCHEMA}

    def ask(messages):
        body = {"model": model, "max_tokens": 500, "messages": messages, "tools": [tool]}
        if not stream:
            return client.messages.create(**body)
        with client.messages.stream(**body) as events:
            return events.get_final_message()

    def say(text):
        messages = [{"role": "user", "content": text}]
        while True:
            message = ask(messages)
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in message.content)
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)} for call in calls]
            messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]

    expect([say(ONE), say(BOTH)])


def anthropic_runner(model, stream):
    import anthropic as sdk

    client = sdk.Anthropic(max_retries=0)
    tool = sdk.beta_tool(get_weather)

    def say(text):
        runner = client.beta.messages.tool_runner(model=model, max_tokens=500, messages=[{"role": "user", "content": text}], tools=[tool], stream=stream)
        for last in runner:
            if stream:
                last = last.get_final_message()
        return "".join(block.text for block in last.content)

    expect([say(ONE), say(BOTH)])


def langchain(make):
    def case(model, stream):
        from langchain_core.messages import HumanMessage, ToolMessage

        bound = make(model).bind_tools([FUNCTION])

        def ask(messages):
            if not stream:
                return bound.invoke(messages)
            whole = None
            for chunk in bound.stream(messages):
                whole = chunk if whole is None else whole + chunk
            return whole

        def say(text):
            messages = [HumanMessage(text)]
            while True:
                answer = ask(messages)
                if not answer.tool_calls:
                    return answer.text if isinstance(answer.text, str) else answer.text()
                messages.append(answer)
                messages += [ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls]

        expect([say(ONE), say(BOTH)])

    return case


def langchain_openai(**options):
    def make(model):
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model=model, max_retries=0, **options)

    return make


def langchain_anthropic(model):
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model=model, max_retries=0)


def litellm(prefix, **options):
    def case(model, stream):
        import litellm as library

        library.suppress_debug_info = True

        def ask(messages):
            body = {"model": prefix + model, "messages": messages, "tools": [FUNCTION], "num_retries": 0, **options}
            if not stream:
                return library.completion(**body)
            return library.stream_chunk_builder(list(library.completion(stream=True, **body)), messages=messages)

        def say(text):
            messages = [{"role": "user", "content": text}]
            while True:
                message = ask(messages).choices[0].message
                if not message.tool_calls:
                    return message.content
                messages.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls:
                    result = get_weather(**json.loads(call.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": result})

        expect([say(ONE), say(BOTH)])

    return case


def pydantic_ai(make):
    def case(model, stream):
        from pydantic_ai import Agent

        agent = Agent(make(model), tools=[get_weather], retries=0)

        async def say(text):
            async def watch(_, events):
                async for _ in events:
                    pass

            return (await agent.run(text, event_stream_handler=watch if stream else None)).output

        async def both():
            return [await say(ONE), await say(BOTH)]

        expect(asyncio.run(both()))

    return case


def pydantic_chat(model):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=BASE, api_key="any"))


def pydantic_responses(model):
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIResponsesModel(model, provider=OpenAIProvider(base_url=BASE, api_key="any"))


def openai_agents(kind):
    def case(model, stream):
        import agents
        from openai import AsyncOpenAI

        agents.set_tracing_disabled(True)

        async def say(text):
            client = AsyncOpenAI(max_retries=0)
            chosen = getattr(agents, kind)(model=model, openai_client=client)
            agent = agents.Agent(name="weather", model=chosen, tools=[agents.function_tool(get_weather)])
            if not stream:
                return (await agents.Runner.run(agent, text)).final_output
            result = agents.Runner.run_streamed(agent, text)
            async for _ in result.stream_events():
                pass
            return result.final_output

        async def both():
            return [await say(ONE), await say(BOTH)]

        expect(asyncio.run(both()))

    return case


def smolagents(model, stream):
    from smolagents import OpenAIModel, tool

    tools = [tool(get_weather)]
    chosen = OpenAIModel(model_id=model, api_base=BASE, api_key="any")

    def say(text):
        messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        if stream:
            calls = [d for delta in chosen.generate_stream(messages, tools_to_call_from=tools) for d in delta.tool_calls or []]
            name = "".join(call.function.name or "" for call in calls if call.index in (0, None))
            arguments = "".join(call.function.arguments or "" for call in calls if call.index in (0, None))
        else:
            call = chosen.generate(messages, tools_to_call_from=tools).tool_calls[0].function
            name, arguments = call.name, call.arguments
        assert name == "get_weather", name
        return get_weather(**(json.loads(arguments) if isinstance(arguments, str) else arguments))

    expect([say(ONE), say(BOTH)])


def instructor(model, stream):
    import instructor as library
    from openai import OpenAI
    from pydantic import BaseModel

    class get_weather_arguments(BaseModel):
        city: str

    get_weather_arguments.__name__ = "get_weather"
    client = library.from_openai(OpenAI(max_retries=0), mode=library.Mode.TOOLS)
    body = {"model": model, "messages": [{"role": "user", "content": ONE}], "max_retries": 0}
    if not stream:
        assert client.chat.completions.create(response_model=get_weather_arguments, **body).city == "Paris"
        return
    parts = list(client.chat.completions.create_partial(response_model=get_weather_arguments, **body))
    assert parts and parts[-1].city == "Paris", parts


def google(model, stream):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=URL))
    config = types.GenerateContentConfig(tools=[get_weather])

    def say(text):
        chat = client.chats.create(model=model, config=config)
        if not stream:
            return chat.send_message(text).text
        return "".join(chunk.text or "" for chunk in chat.send_message_stream(text))

    expect([say(ONE), say(BOTH)])


def ollama(model, stream):
    import ollama as library

    client = library.Client(host=URL)

    def ask(messages):
        if not stream:
            return client.chat(model=model, messages=messages, tools=[get_weather]).message
        text, calls = "", []
        for chunk in client.chat(model=model, messages=messages, tools=[get_weather], stream=True):
            text += chunk.message.content or ""
            calls += chunk.message.tool_calls or []
        return library.Message(role="assistant", content=text, tool_calls=calls or None)

    def say(text):
        messages = [{"role": "user", "content": text}]
        while True:
            message = ask(messages)
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                messages.append({"role": "tool", "tool_name": call.function.name, "content": get_weather(**call.function.arguments)})

    expect([say(ONE), say(BOTH)])


CASES = {
    ("anthropic", "Messages"): anthropic,
    ("anthropic", "tool_runner"): anthropic_runner,
    ("langchain-openai", "chat completions"): langchain(langchain_openai()),
    ("langchain-openai", "responses"): langchain(langchain_openai(use_responses_api=True)),
    ("langchain-anthropic", "Messages"): langchain(langchain_anthropic),
    ("litellm", "chat completions"): litellm("openai/", api_base=BASE),
    ("litellm", "Messages"): litellm("anthropic/", api_base=URL),
    ("litellm", "Ollama"): litellm("ollama_chat/", api_base=URL),
    ("pydantic-ai-slim", "chat completions"): pydantic_ai(pydantic_chat),
    ("pydantic-ai-slim", "responses"): pydantic_ai(pydantic_responses),
    ("openai-agents", "chat completions"): openai_agents("OpenAIChatCompletionsModel"),
    ("openai-agents", "responses"): openai_agents("OpenAIResponsesModel"),
    ("smolagents", "chat completions"): smolagents,
    ("instructor", "chat completions"): instructor,
    ("google-genai", "generateContent"): google,
    ("ollama", "Ollama"): ollama,
}


def load():
    """Imports everything before there are threads: not all of these packages can be imported by two at once."""
    import agents, anthropic, google.genai, httpx, instructor, langchain_anthropic, langchain_openai, litellm, ollama, openai, smolagents  # noqa: E401, F401
    import pydantic_ai.models.openai, pydantic_ai.providers.openai  # noqa: E401, F401


def run(case):
    fault = None
    try:
        CASES[case["client"], case["how"]](case["model"], case["stream"])
    except Exception:  # whatever it is, it is the result
        fault = traceback.format_exc()
    return json.dumps({**case, "fault": fault})


def main():
    load()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for line in pool.map(run, json.loads(sys.argv[2])):
            print(line, flush=True)


main()
