"""A server of MCP made with a package of Python: mcp_servers.py mcp|fastmcp [PORT]. Without a port it speaks over standard input and output."""

import sys

package = sys.argv[1]
if package == "mcp":
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context, Image
else:
    from fastmcp import Context
    from fastmcp import FastMCP as Server
    from fastmcp.utilities.types import Image

from pydantic import BaseModel

server = Server("sums")


class Weather(BaseModel):
    city: str
    degrees: float


class Color(BaseModel):
    color: str


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """Returns the weather of a city."""
    return Weather(city=city, degrees=21.5)


@server.tool()
def picture() -> Image:
    """Returns a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


@server.tool()
def fails() -> str:
    """Fails."""
    raise ValueError("the oven is cold")


@server.tool()
async def slow(ctx: Context, steps: int) -> str:
    """Tells how far it is."""
    for i in range(steps):
        await ctx.report_progress(i + 1, steps, f"step {i + 1}")
    return "done"


@server.tool()
async def paint(ctx: Context) -> str:
    """Asks for a color."""
    answer = await ctx.elicit("Which color?", Color)
    return f"painted {answer.data.color}" if answer.action == "accept" else "not painted"


@server.resource("note://today")
def note() -> str:
    """A note."""
    return "the meeting is at ten"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Say hi to {name}."


if len(sys.argv) == 2:
    server.run()
else:
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
