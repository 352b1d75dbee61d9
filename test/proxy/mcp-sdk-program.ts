/* The server of these tests on its standard streams; its name is the first argument. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { makeServer } from './mcp-server.ts'

await makeServer({ name: process.argv[2] ?? 'program' }).connect(
  new StdioServerTransport() as never,
)
