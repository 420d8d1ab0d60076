"""The MCP server `notes` of the conformance cases, on stdio. It writes the names of the tools that ran to NOTES_LOG."""

from __future__ import annotations

import os

try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:  # from version 2 on
    from mcp.server.mcpserver import MCPServer as Server

server = Server("notes")


def ran(name: str) -> None:
    with open(os.environ["NOTES_LOG"], "a") as log:
        log.write(name + "\n")


@server.tool()
def search(query: str) -> str:
    """Searches the notes."""
    ran("search")
    return f"found {query}"


@server.tool()
def erase(query: str) -> str:
    """Erases notes."""
    ran("erase")
    return f"erased {query}"


if __name__ == "__main__":
    server.run("stdio")
