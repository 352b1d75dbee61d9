/* The server of the conformance suite on its standard streams. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { makeConformanceServer } from './mcp-conformance-server.ts'

await makeConformanceServer().connect(new StdioServerTransport() as never)
