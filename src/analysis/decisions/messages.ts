import type { Model } from '../../model/model.ts'
import type { Entry } from '../diff/entries.ts'
import { withoutMessageRules } from '../diff/unlooked.ts'
import { type Point, pointsOf } from '../points.ts'

/** The rules for messages to MCP servers, keyed by place. */
export function messagePoints(model: Model): ReadonlyMap<string, Point> {
  if (!model.backends.some(({ kind }) => kind === 'mcp')) return NO_POINTS
  const found = new Map<string, Point>()
  for (const point of pointsOf(model)) {
    if (point.stage === 'mcp') found.set(placeOf(point.where, point.where.server?.name), point)
  }
  return found
}

const NO_POINTS: ReadonlyMap<string, Point> = new Map()

/** The way of a message to one server, whose rules are evaluated after those of the backend. */
export function withMessage(
  entry: Entry,
  server: string | undefined,
  points: ReadonlyMap<string, Point>,
): Entry {
  if (server === undefined || entry.where.backend?.kind !== 'mcp') return entry
  const isThere = entry.where.backend.targets.some(({ name }) => name === server)
  const { unlooked } = withoutMessageRules(entry)
  if (!isThere) return { ...entry, unlooked, isServed: false }
  // A server without rules of its own uses those of its backend.
  const point =
    points.get(placeOf(entry.where, server)) ?? points.get(placeOf(entry.where, undefined))
  if (point === undefined) return entry
  return { ...entry, unlooked, points: [...entry.points, { ...point, stage: 'backend' }] }
}

function placeOf(where: Point['where'], server: string | undefined): string {
  const { gateway, listener, route, index, number, backend } = where
  return [gateway.name, listener.name, route?.name, index, number, backend?.name, server].join(' ')
}
