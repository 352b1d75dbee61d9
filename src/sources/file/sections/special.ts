import * as z from 'zod'
import type { JsonObject } from '../../../model/json.ts'
import type { SpecialSection } from '../../../model/model.ts'
import type { Section } from '../../../model/policy.ts'
import { anything, name, port } from '../../../policies/schema.ts'
import { originOf, valueAt } from '../document.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import { UNSUPPORTED_POLICIES } from '../unsupported-keys.ts'
import { mcpOptions, mcpTargets } from './mcp.ts'

/** Sections for one protocol each; they are checked and kept, and served by its own part. */

const gateways = z
  .union([name(), z.array(name()).min(1).max(64)])
  .optional()
  .describe('The gateways that it belongs to; `default` by default.')

const SECTIONS: readonly Section[] = ['traffic', 'backend']

const unsupported = UNSUPPORTED_POLICIES.map((key) => {
  return [key, anything.optional().describe('Checked when it is served.')] as const
})

const sectionPolicies = policiesSchema(SECTIONS, 'route')
  .extend(Object.fromEntries(unsupported))
  .meta({ id: 'section-policies' })

const policies = (what: string) => sectionPolicies.optional().describe(`Policies for ${what}.`)

const shapes = {
  mcp: {
    gateways,
    port: port().optional().describe('A port of its own.'),
    targets: mcpTargets(),
    ...mcpOptions,
  },
  ui: { gateways },
} as const

export const mcpSchema = z.strictObject({ ...shapes.mcp, policies: policies('all servers') })
export const uiSchema = z.strictObject({ ...shapes.ui, policies: policies('the Admin UI') })

const TITLES = { mcp: 'MCP traffic', ui: 'the Admin UI' } as const

/** `mcp` or `ui`. */
export function readSpecial(
  reading: Reading,
  key: keyof typeof shapes,
): SpecialSection | undefined {
  const { document } = reading
  if (valueAt(document, [key]) === undefined) return undefined
  const schema = z.strictObject(shapes[key] as z.ZodRawShape)
  const stage = key === 'ui' ? 'traffic' : key
  const { value } = parseAt(reading, schema, [key], { stage, except: ['policies'] })
  const policies = readPolicies(reading, [key, 'policies'], {
    sections: SECTIONS,
    level: 'route',
    policy: `section:${key}`,
    isLenient: true,
  })
  complain(
    reading,
    [key],
    {
      code: 'PC0220',
      severity: 'warning',
      message: `\`${key}\` is checked, but ${TITLES[key]} is not served by this version`,
      hint: 'nothing listens for it; routes and backends are served',
    },
    'key',
  )
  return { origin: originOf(document, [key]), value: (value ?? {}) as JsonObject, policies }
}
