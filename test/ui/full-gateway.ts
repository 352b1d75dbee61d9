import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveExampleMcp } from '../../src/cli/example-mcp.ts'
import { startModelProvider } from '../proxy/model-provider.ts'
import { ROUTES, startUiGateway, type UiGateway, type UiGatewayOptions } from './ui-gateway.ts'

export const CLIENT_KEY = 'sk-of-a-client-0123456789'

/** A gateway with content on every page: routes, models, keys, budgets, tools. */
export interface FullGateway extends UiGateway {
  /** The status of a call to a model. */
  readonly callModel: (model: string) => Promise<number>
}

const rates = { input: '1000000', output: '2000000' }
const CATALOG = [{ inline: { providers: { openai: { models: { small: { rates } } } } } }]

export async function startFullGateway(
  options: Pick<UiGatewayOptions, 'database'> = {},
): Promise<FullGateway> {
  const provider = await startModelProvider('openai')
  const tools = await startTools()
  const gateway = await startUiGateway({
    ...options,
    config: `  modelCatalog: ${JSON.stringify(CATALOG)}\n`,
    text: `${ROUTES}llm: ${JSON.stringify(modelsOf(provider.port))}\nmcp: ${JSON.stringify(serversOf(tools))}\n`,
  })
  return {
    ...gateway,
    callModel: async (model) => {
      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
      })
      await response.text()
      return response.status
    },
    stop: async () => {
      await gateway.stop()
      await provider.close()
      tools.close()
      tools.closeAllConnections()
    },
  }
}

function modelsOf(port: number): object {
  const params = { apiKey: 'sk-provider', hostOverride: `127.0.0.1:${port}` }
  const key = { key: CLIENT_KEY, metadata: { owner: 'alice' }, allowedModels: ['small'] }
  return {
    models: ['small', 'large'].map((name) => ({ name, provider: 'openAI', params })),
    policies: {
      apiKey: { keys: [key] },
      budgets: [{ requests: 10, per: 'Day', key: 'apiKey.owner' }],
    },
  }
}

function serversOf(tools: Server): object {
  const { port } = tools.address() as AddressInfo
  const rules = [
    { allow: "mcp.tool.name == 'list_notes'" },
    { allow: "mcp.tool.name == 'delete_note' && request.headers['x-team'] == 'eng'" },
  ]
  return {
    targets: [{ name: 'notes', mcp: { host: `http://127.0.0.1:${port}/mcp` } }],
    policies: { mcpAuthorization: { rules } },
  }
}

async function startTools(): Promise<Server> {
  const server = createServer((request, response) => {
    if (!serveExampleMcp(request, response)) response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
