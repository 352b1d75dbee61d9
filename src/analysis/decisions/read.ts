import * as z from 'zod'
import { readJson } from '../../cel/values/json-read.ts'
import type { RecordedDecision } from './recorded.ts'

const attribute = z.object({
  name: z.string(),
  state: z.enum(['shown', 'cut', 'redacted', 'unset']),
  value: z.unknown().optional(),
  inexact: z.boolean().optional(),
  missing: z.string().optional(),
  within: z.string().optional(),
})

const policyName = {
  policy: z.string(),
  section: z.string(),
  level: z.string(),
  kind: z.string(),
}

const rule = z.object({
  policy: z.string(),
  field: z.string(),
  action: z.enum(['Allow', 'Require', 'Deny']),
  expression: z.string(),
})

const decision = z.object({
  id: z.string(),
  time: z.string(),
  kind: z.string(),
  stage: z.string(),
  verdict: z.enum(['allowed', 'denied']),
  enforced: z.boolean(),
  skipped: z.boolean().optional(),
  cause: z.string(),
  reason: z.string().optional(),
  credentials: z.object(policyName).optional(),
  rule: rule.optional(),
  variable: z.string().optional(),
  present: z.array(z.string()).optional(),
  gateway: z.string(),
  listener: z.string().optional(),
  route: z.string().optional(),
  backend: z.string().optional(),
  provider: z.string().optional(),
  method: z.string().optional(),
  host: z.string().optional(),
  path: z.string().optional(),
  port: z.number().optional(),
  source: z.string(),
  peer: z.string().optional(),
  sni: z.string().optional(),
  identified: z.array(z.object({ ...policyName, variable: z.string() })).optional(),
  attributes: z.array(attribute),
})

export interface ReadDecisions {
  readonly decisions: readonly RecordedDecision[]
  /** Numbers of the lines that are not decisions. */
  readonly others: readonly number[]
  /** Whether the gateway wrote the file, even if it contains no decisions yet. */
  readonly isLog: boolean
}

/** Reads JSON lines as the gateway writes them. Empty lines are skipped. */
export function readDecisions(text: string): ReadDecisions {
  const decisions: RecordedDecision[] = []
  const others: number[] = []
  let isLog = false
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const value = readJson(line)
    if (isAboutFile(value) || isRejection(value)) {
      isLog = true
      continue
    }
    const { data } = decision.safeParse(value)
    if (data === undefined) others.push(index + 1)
    else decisions.push(data as RecordedDecision)
  }
  return { decisions, others, isLog }
}

/** No rule decided about it, so there is nothing to decide again. */
function isRejection(value: unknown): boolean {
  const { kind, verdict } = (value ?? {}) as { readonly kind?: unknown; readonly verdict?: unknown }
  return kind === 'rejection' && (verdict === 'rejected' || verdict === 'denied')
}

const ABOUT_FILE: ReadonlySet<unknown> = new Set(['begin', 'gap', 'resume', 'end'])

/** Whether the gateway wrote the line about the file itself. */
function isAboutFile(value: unknown): boolean {
  const { seq, entry } = (value ?? {}) as { readonly seq?: unknown; readonly entry?: unknown }
  return seq !== undefined && ABOUT_FILE.has(entry)
}
