import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isListening, isOwnName, type RequestHandler, serve, text } from '../admin/servers.ts'
import { type FindUi, UI_PATH, uiHandler } from '../admin/ui-files.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { rankFor } from '../model/hostnames.ts'
import type { Model } from '../model/model.ts'
import { uiListeners } from '../reach/admin-ui.ts'
import type { AdminAccess } from './admin-token.ts'
import { openUi } from './check-surroundings.ts'

const TOKEN = 'PORTCULLIS_ADMIN_TOKEN'

export interface UiSocketOptions {
  /** Checks who calls, on every request. */
  readonly api: RequestHandler
  readonly findUi: FindUi
  readonly access: Pick<AdminAccess, 'isOpen' | 'names'>
  readonly model: () => Model | undefined
  readonly broke: (error: unknown) => void
}

/**
 * Where the main process serves the Admin UI for the ports of gateways: a socket that only this
 * user can open. Workers forward requests to it like to any backend.
 */
export class UiSocket {
  readonly path = socketPath()
  #options: UiSocketOptions | undefined
  #server: Promise<Server> | undefined

  /** Sets what it serves, before the first Model. */
  open(options: UiSocketOptions): void {
    this.#options = options
  }

  /**
   * Without a token or sign-in, anyone who reaches the port of a gateway could change what it
   * allows: such a configuration is an error.
   */
  problems(model: Model): readonly Diagnostic[] {
    const ui = uiIn(model)
    if (ui === undefined || this.#options?.access.isOpen !== true) return []
    return [openUi(ui.origin)]
  }

  /** Listens if the Model has a backend for it. */
  async prepare(model: Model): Promise<void> {
    if (this.#options === undefined || uiIn(model) === undefined) return
    this.#server ??= listenAt(this.path, this.#options)
    await this.#server
  }

  async close(): Promise<void> {
    const server = await this.#server
    if (server === undefined) return
    server.close()
    server.closeAllConnections()
    if (process.platform !== 'win32') rmSync(dirname(this.path), { recursive: true, force: true })
  }
}

function uiIn({ backends }: Model) {
  return backends.find(({ kind }) => kind === 'admin')
}

function socketPath(): string {
  const name = `portcullis-${randomBytes(16).toString('hex')}`
  if (process.platform === 'win32') return `\\\\.\\pipe\\${name}`
  return join(tmpdir(), name, 'ui')
}

async function listenAt(path: string, options: UiSocketOptions): Promise<Server> {
  const { api, findUi, broke } = options
  if (process.platform !== 'win32') mkdirSync(dirname(path), { mode: 0o700 })
  const guarded = (handler: RequestHandler): RequestHandler => {
    return (request, response) => {
      const reason = rejectionOf(request.headers.host ?? '', options)
      if (reason === undefined) return handler(request, response)
      const [status, message] = reason
      return text(response, status, `${message}\n`)
    }
  }
  const redirect: RequestHandler = (_, response) => {
    response.writeHead(302, { location: UI_PATH })
    response.end()
  }
  const pages = new Map([
    [UI_PATH.slice(0, -1), guarded(redirect)],
    [UI_PATH, guarded(uiHandler(findUi))],
  ])
  const origin = { kind: 'object', object: 'ui', field: '' } as const
  const server = await serve({ kind: 'unix', path }, pages, origin, broke, true, guarded(api))
  if (isListening(server)) return server
  throw new Error(server?.message)
}

/** On the port of a gateway, callers are never trusted because of where they connect from. */
function rejectionOf(
  host: string,
  { access, model }: UiSocketOptions,
): readonly [number, string] | undefined {
  if (access.isOpen) {
    return [503, `the Admin UI needs users to sign in: set config.adminAuth or ${TOKEN}`]
  }
  if (isOwnName(host, access.names) || isServedName(host, model())) return undefined
  return [421, 'the Admin UI is not served for this name: set `hostname` of its listener']
}

/** Whether a listener of the UI is for this name. One without a hostname is for any. */
function isServedName(host: string, model: Model | undefined): boolean {
  if (model === undefined) return false
  const name = host.replace(/:[0-9]*$/, '').toLowerCase()
  return hostnamesIn(model).some((hostname) => rankFor(hostname, name) >= 0)
}

/** Found once for each Model: there may be thousands of routes. */
const hostnames = new WeakMap<Model, readonly string[]>()

function hostnamesIn(model: Model): readonly string[] {
  const known = hostnames.get(model)
  if (known !== undefined) return known
  const found = [...uiListeners(model)].flatMap(({ where }) => where.listener.hostname ?? [])
  hostnames.set(model, found)
  return found
}
