import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { Section } from '../../../model/policy.ts'
import type { BackendRef, Match, RouteAction } from '../../../model/route.ts'
import { headerName, hostname, name } from '../../../policies/schema.ts'
import { policiesSchema } from '../policies.ts'
import type { Reading } from '../reading.ts'
import { httpBackendRefSchema } from './backends.ts'
import { pathMatch, valueMatch } from './matches.ts'

/* The parts that all kinds of routes share. */

export const AT_ROUTE: readonly Section[] = ['traffic', 'backend']

export const identity = {
  name: name().optional().describe('The name in logs, metrics and policies.'),
  namespace: name().optional().describe('A prefix of the name, separated by a slash.'),
  ruleName: name()
    .optional()
    .describe('The name of this entry, if several entries share a route name.'),
  hostnames: z
    .array(hostname())
    .max(64)
    .optional()
    .describe('The hostnames to match, such as `*.example.com`. Default: all.'),
}

const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
])

/** RFC 9110 §9.1: methods are case-sensitive, but `get` always means `GET`. */
function methodOf(written: string): string {
  const upper = written.toUpperCase()
  return METHODS.has(upper) ? upper : written
}

const NO_PSEUDO =
  'use `method`, `path` and `hostnames` instead of `:method`, `:path` and `:authority`'

const match = z
  .strictObject({
    path: pathMatch().optional().describe('The path to match. Default: any.'),
    method: z
      .string()
      .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)
      .max(64)
      .transform(methodOf)
      .optional()
      .describe('The method to match.'),
    headers: z
      .array(valueMatch(headerName(NO_PSEUDO)))
      .max(64)
      .optional()
      .describe('The headers to match.'),
    query: z
      .array(valueMatch(z.string().min(1).max(256)))
      .max(64)
      .optional()
      .describe('The query parameters to match.'),
  })
  .transform(
    ({ path = { kind: 'prefix', value: '/' }, method, headers = [], query = [] }): Match => {
      const lower = headers.map((header) => ({ ...header, name: header.name.toLowerCase() }))
      const base = { path, headers: lower, query }
      return method === undefined ? base : { ...base, method }
    },
  )
  .meta({ id: 'match' })

export const matches = () =>
  z
    .array(match)
    .min(1)
    .max(64)
    .optional()
    .describe(
      'Requests to match. A request must match all conditions of at least one entry. Default: every path.',
    )

export const httpHead = { ...identity, matches: matches() }

export const routeShape = {
  ...httpHead,
  policies: policiesSchema(AT_ROUTE, 'route').optional().describe('Policies for this route.'),
  backends: z
    .array(httpBackendRefSchema)
    .max(64)
    .optional()
    .describe('Where to send requests. Several backends share them by weight.'),
}

export const EVERYTHING: Match = { path: { kind: 'prefix', value: '/' }, headers: [], query: [] }

/** Thousands of routes may lead to one backend; they share one action. */
export function actionOf(
  { repeated }: Reading,
  backends: readonly BackendRef[],
  diagnostics: readonly Diagnostic[],
): RouteAction {
  if (diagnostics.some(({ severity }) => severity === 'error')) {
    return { kind: 'invalid', diagnostics }
  }
  const [first, ...others] = backends
  const isPlain = others.length === 0 && first !== undefined && first.policies.length === 0
  if (!isPlain) return { kind: 'forward', backends }
  const key = `${first.weight} ${first.backend}`
  const known = repeated.actions.get(key) ?? { kind: 'forward', backends }
  repeated.actions.set(key, known)
  return known
}
