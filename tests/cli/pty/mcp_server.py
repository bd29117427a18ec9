# A server of one tool by the official package; `http PORT` makes it listen, else it speaks over its streams.
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer('small')
@server.tool()
def weather(city: str) -> str:
    'The weather of a city.'
    return f'rain in {city}'
if sys.argv[1:2] == ['http']:
    server.run('streamable-http', port=int(sys.argv[2]))
else:
    server.run('stdio')
