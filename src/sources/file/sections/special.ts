import * as z from 'zod'
import type { JsonObject } from '../../../model/json.ts'
import type { SpecialSection } from '../../../model/model.ts'
import type { Section } from '../../../model/policy.ts'
import { anything, name } from '../../../policies/schema.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import { UNSUPPORTED_POLICIES } from '../unsupported-keys.ts'

/** The section `ui`: validated and kept, but not served on a gateway by this version. */

const gateways = z
  .union([name(), z.array(name()).min(1).max(64)])
  .optional()
  .describe('The gateways to serve on. Default: `default`.')

const SECTIONS: readonly Section[] = ['traffic', 'backend']

const unsupported = UNSUPPORTED_POLICIES.map((key) => {
  return [key, anything.optional().describe('Not validated yet.')] as const
})

const sectionPolicies = policiesSchema(SECTIONS, 'route')
  .extend(Object.fromEntries(unsupported))
  .meta({ id: 'section-policies' })

const policies = (what: string) => sectionPolicies.optional().describe(`Policies for ${what}.`)

export const uiSchema = z.strictObject({ gateways, policies: policies('the Admin UI') })

const outline = z.strictObject({ gateways })

/** Reads `ui`. */
export function readUi(reading: Reading): SpecialSection | undefined {
  const key = 'ui'
  const node = reading.root.inner(key)
  if (node.value === undefined) return undefined
  const { value } = parseAt(reading, outline, node, { stage: 'traffic', except: ['policies'] })
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: SECTIONS,
    level: 'route',
    policy: `section:${key}`,
    isLenient: true,
  })
  complain(
    reading,
    node,
    {
      code: 'PC0220',
      severity: 'warning',
      message: '`ui` is validated, but this version does not serve the Admin UI on a gateway',
      hint: 'no port is opened for it; routes and backends are served',
    },
    'key',
  )
  return { origin: node.origin, value: (value ?? {}) as JsonObject, policies }
}
