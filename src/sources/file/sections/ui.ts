import * as z from 'zod'
import type { Backend } from '../../../model/backend.ts'
import type { Section } from '../../../model/policy.ts'
import type { Route } from '../../../model/route.ts'
import { name } from '../../../policies/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'

/** Expands `ui` into a route to the admin API and the UI of the gateway itself. */
export interface ReadUi {
  readonly routes: readonly Placed<Route>[]
  readonly backends: readonly Placed<Backend>[]
}

const NO_SECTION: ReadUi = { routes: [], backends: [] }
const NAME = 'ui'
/** The pages of the UI, and the admin API that they use, are below this path on every port. */
const PATH = '/ui'
const SECTIONS: readonly Section[] = ['traffic', 'backend']

const outline = {
  gateways: z
    .union([name(), z.array(name()).min(1).max(64)])
    .optional()
    .describe('The gateways, or listeners as `gateway/listener`, to serve on. Default: `default`.'),
}

export const uiSchema = z.strictObject({
  ...outline,
  policies: policiesSchema(SECTIONS, 'route').optional().describe('Policies for the Admin UI.'),
})

export function readUi(reading: Reading): ReadUi {
  const node = reading.root.inner(NAME)
  if (node.value === undefined) return NO_SECTION
  const shape = z.strictObject(outline)
  const { value } = parseAt(reading, shape, node, { stage: 'traffic', except: ['policies'] })
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: SECTIONS,
    level: 'route',
    policy: `route:${NAME}`,
  })
  const { gateways = 'default' } = value ?? {}
  const { origin, place } = node
  const route: Route = {
    name: NAME,
    origin,
    parents: (typeof gateways === 'string' ? [gateways] : gateways).map((gateway) => ({ gateway })),
    hostnames: [],
    policies,
    rules: [
      {
        name: NAME,
        origin,
        matches: [{ path: { kind: 'prefix', value: PATH }, headers: [], query: [] }],
        policies: [],
        action: { kind: 'forward', backends: [{ backend: NAME, weight: 1, policies: [] }] },
      },
    ],
  }
  const backend: Backend = { name: NAME, origin, policies: [], kind: 'admin' }
  return { routes: [{ thing: route, place }], backends: [{ thing: backend, place }] }
}
