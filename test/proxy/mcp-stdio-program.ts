/* An MCP server on its standard streams, which reports how it was started. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const write = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let isInitialized = false
let calls = 0

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as {
    id?: number | string
    method: string
    params?: { name?: string; protocolVersion?: string; _meta?: { progressToken?: unknown } }
  }
  if (method === 'initialize') {
    const serverInfo = { name: 'stdio', version: '1' }
    const { protocolVersion } = params ?? {}
    write({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } })
  } else if (method === 'notifications/initialized') isInitialized = true
  else if (method === 'tools/list') {
    const inputSchema = { type: 'object' }
    const tools = ['environment', 'calls', 'child', 'crash', 'progress'].map((name) => ({
      name,
      inputSchema,
    }))
    write({ id, result: { tools } })
  } else if (method === 'tools/call') {
    const { name } = params ?? {}
    if (name === 'crash') process.exit(3)
    if (name === 'progress') {
      const { progressToken } = params?._meta ?? {}
      write({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    }
    const child = name === 'child' ? spawn('sleep', ['600'], { stdio: 'ignore' }).pid : undefined
    const said =
      child !== undefined
        ? String(child)
        : name === 'environment'
          ? JSON.stringify(Object.keys(process.env).sort())
          : `${process.pid} ${++calls} ${isInitialized}`
    write({ id, result: { content: [{ type: 'text', text: said }] } })
  }
})
