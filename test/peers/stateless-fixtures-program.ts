/* The server of the conformance suite for 2026-07-28 on its standard streams, with sessions. */
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { fixtureServer } from './stateless-fixtures.ts'

await fixtureServer().connect(new StdioServerTransport())
