import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Backend } from './backend.ts'
import type { Gateway } from './gateway.ts'
import type { JsonObject } from './json.ts'
import type { Attached } from './policy.ts'
import type { Route } from './route.ts'
import type { TcpRoute } from './tcp-route.ts'

/**
 * What the gateway is to do, whoever said so: plain, frozen data. What was invalid is a value
 * here too, one that fails closed. Settings of the process are no part of it: see ./settings.ts.
 */
export interface Model {
  readonly gateways: readonly Gateway[]
  readonly routes: readonly Route[]
  readonly tcpRoutes: readonly TcpRoute[]
  readonly backends: readonly Backend[]
  /** What reaches every connection of every gateway. */
  readonly frontend: readonly Attached[]
  readonly llm?: SpecialSection
  readonly mcp?: SpecialSection
  readonly ui?: SpecialSection
}

/** A section that is checked, but served by a protocol of its own. */
export interface SpecialSection {
  readonly origin: Origin
  readonly value: JsonObject
  readonly policies: readonly Attached[]
}
