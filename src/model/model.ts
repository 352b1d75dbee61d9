import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Backend } from './backend.ts'
import type { Gateway } from './gateway.ts'
import type { JsonObject } from './json.ts'
import type { Attached } from './policy.ts'
import type { Route } from './route.ts'
import type { TcpRoute } from './tcp-route.ts'

/**
 * What the gateway does, whatever the source of its configuration: plain, frozen data. Invalid
 * configuration is a value here too, one that fails closed. Settings of the process are not part of
 * it: see ./settings.ts.
 */
export interface Model {
  readonly gateways: readonly Gateway[]
  readonly routes: readonly Route[]
  readonly tcpRoutes: readonly TcpRoute[]
  readonly backends: readonly Backend[]
  /** Apply to every connection of every gateway. */
  readonly frontend: readonly Attached[]
  readonly llm?: SpecialSection
  readonly mcp?: SpecialSection
  readonly ui?: SpecialSection
}

/** A section that is validated here, but served by its own protocol. */
export interface SpecialSection {
  readonly origin: Origin
  readonly value: JsonObject
  readonly policies: readonly Attached[]
}
