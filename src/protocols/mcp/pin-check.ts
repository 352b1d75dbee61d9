import type { ChangedTool } from './pins.ts'
import type { EndpointPlan, Serving } from './serving.ts'

/** Returns the server that has a pin for a tool of this name, if any. */
export function pinnedBy<P>(plan: EndpointPlan<P>, name: string): number | undefined {
  const server = plan.pins.findIndex((pins) => pins?.has(name) === true)
  return server < 0 ? undefined : server
}

export function reportPins<P>(
  { plan, exchange }: Serving<P>,
  server: number,
  tools: readonly ChangedTool[],
  isCall: boolean,
): void {
  const target = plan.servers[server]?.name ?? ''
  const isEnforced = plan.pins[server]?.isEnforced === true
  plan.rules.unpinned(exchange, { target, isEnforced, isCall, tools })
}
