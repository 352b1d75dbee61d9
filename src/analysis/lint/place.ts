import type { Point } from '../points.ts'

/** The place as shown to people: `route orders`, `listener default/web`, `backend api`. */
export function placeName({ stage, where }: Pick<Point, 'stage' | 'where'>): string {
  const { gateway, listener, route, backend, provider, server } = where
  if (provider !== undefined) return `provider ${provider.name} of backend ${backend?.name}`
  if (server !== undefined) return `server ${server.name} of backend ${backend?.name}`
  if (stage === 'backend' || stage === 'mcp') return `backend ${backend?.name}`
  if (route !== undefined) return `route ${route.name}`
  return `listener ${gateway.name}/${listener.name}`
}

/** `route a, route b and 3 more` */
export function listed(names: readonly string[], max = 3): string {
  const unique = [...new Set(names)]
  const shown = unique.slice(0, max).map((name) => `\`${name}\``)
  const more = unique.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
