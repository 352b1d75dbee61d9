import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import {
  type AgentCard,
  generateAgentCardSignature,
  type Message,
  Role,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server'
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express'

export interface Agent {
  readonly port: number
  /** Method and URL of each request that arrived. */
  readonly arrived: string[]
  close(): Promise<void>
}

type Handler = (...all: never[]) => unknown
interface Router {
  use(path: string, handler: Handler): void
}
const express = createRequire(import.meta.url)('express') as () => Router & Handler

/** An agent built with the official SDK, for 1.0 and 0.3, with both bindings over HTTP. */
export async function startAgent(prefix = '', key?: CryptoKey): Promise<Agent> {
  const arrived: string[] = []
  const app = express()
  const server: Server = createServer((request: IncomingMessage, response) => {
    arrived.push(`${request.method} ${request.url}`)
    ;(app as unknown as (...all: unknown[]) => void)(request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const base = `http://127.0.0.1:${port}${prefix}`
  const card = cardOf(base)
  const sign = key && generateAgentCardSignature(key, { alg: 'ES256', kid: 'agent', typ: 'JOSE' })
  const handler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
    undefined,
    new InMemoryPushNotificationStore(),
    undefined,
    { ...card, name: 'extended' },
    sign,
  )
  const options = {
    requestHandler: handler,
    userBuilder: UserBuilder.noAuthentication,
    legacyCompat: { enabled: true },
  }
  const provider = { agentCardProvider: handler, legacyCompat: { enabled: true } }
  app.use(`${prefix}/.well-known/agent-card.json`, agentCardHandler(provider) as Handler)
  app.use(`${prefix}/rpc`, jsonRpcHandler(options) as Handler)
  app.use(`${prefix}/rest`, restHandler(options) as Handler)
  return {
    port,
    arrived,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function cardOf(base: string): AgentCard {
  const at = (path: string, protocolBinding: string, protocolVersion: string) => ({
    ...{ url: `${base}${path}`, protocolBinding, protocolVersion, tenant: '' },
  })
  return {
    name: 'echo',
    description: 'says what it is told',
    version: '1',
    supportedInterfaces: [
      { ...at('', 'GRPC', '1.0'), url: 'agent.internal:50051' },
      at('/rpc', 'JSONRPC', '1.0'),
      at('/rest', 'HTTP+JSON', '1.0'),
      at('/rpc', 'JSONRPC', '0.3'),
      at('/rest', 'HTTP+JSON', '0.3'),
    ],
    provider: { url: 'https://maker.example', organization: 'maker' },
    capabilities: {
      ...{ streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [] },
    },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        ...{ id: 'echo', name: 'echo', description: 'echo', tags: ['x'], examples: [] },
        ...{ inputModes: [], outputModes: [], securityRequirements: [] },
      },
    ],
    signatures: [],
  }
}

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const task: Task = {
      id: taskId,
      contextId,
      status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
      history: [userMessage],
      artifacts: [],
      metadata: undefined,
    }
    bus.publish(AgentEvent.task(task))
    const stays = textOf(userMessage).includes('stay')
    const state = stays ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED
    const status = { state, message: undefined, timestamp: undefined }
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }))
    bus.finished()
  },
  async cancelTask(taskId, bus) {
    const state = TaskState.TASK_STATE_CANCELED
    const status = { state, message: undefined, timestamp: undefined }
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }))
    bus.finished()
  },
}

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

export function messageOf(text: string, own: Partial<Message> = {}): Message {
  return {
    messageId: `m-${text}`,
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [
      {
        ...{ content: { $case: 'text', value: text }, metadata: undefined },
        ...{ filename: '', mediaType: 'text/plain' },
      },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...own,
  }
}
