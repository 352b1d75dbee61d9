import type { HeaderView } from '../../src/exchange/header-view.ts'
import type { CallService, NoResponse, ServiceRequest } from '../../src/exchange/service-call.ts'
import type { ValidPolicy } from '../../src/model/policy.ts'
import type { CompileContext, PolicyDeps } from '../../src/policies/define.ts'
import { exchangeOf } from '../fuzz/exchanges.ts'

/** A request that a policy sent to a service. */
export interface Arrived extends Pick<ServiceRequest, 'method' | 'path' | 'timeout' | 'maxBytes'> {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly bytes: Uint8Array
}

interface Response {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly trailers?: Readonly<Record<string, string>>
}

/** Services that a policy calls, which respond as the test says, and a clock that it advances. */
export class ScriptedServices {
  time = 0
  readonly arrived: Arrived[] = []
  respondWith: (arrived: Arrived) => Response | NoResponse | Promise<Response | NoResponse> =
    () => ({})
  readonly context: CompileContext
  readonly #kept = new Map<string, unknown>()

  constructor(policyDeps: PolicyDeps = {}) {
    this.context = {
      now: () => this.time,
      policyDeps,
      kept: (_: ValidPolicy, make: (key: string) => unknown, part = '') => {
        if (!this.#kept.has(part)) this.#kept.set(part, make(part))
        return this.#kept.get(part)
      },
      connect: (target: object) => this.serviceAt(JSON.stringify(target)),
    } as Partial<CompileContext> as CompileContext
  }

  serviceAt(origin: string): CallService {
    return async (_, { method, path, timeout, maxBytes, headers, body }) => {
      const question = { method, path, timeout, maxBytes, headers: Object.fromEntries(headers) }
      const arrived = { ...question, origin, body: Buffer.from(body).toString(), bytes: body }
      this.arrived.push(arrived)
      const response = await this.respondWith(arrived)
      if ('failure' in response) return response
      const { status = 200, headers: own = {}, body: text = '', trailers: last = {} } = response
      const fields = Object.entries(own)
      const view: HeaderView = exchangeOf({ headers: own }).request.headers
      const trailers = new Map(Object.entries(last))
      return { status, headers: view, fields, trailers, body: Buffer.from(text) }
    }
  }
}
