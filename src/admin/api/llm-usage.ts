import * as z from 'zod'
import { type Endpoint, ok } from './define.ts'

const MINUTE = 60
const DAY = 86_400
/** The max number of steps in a response. */
const MAX_STEPS = 1_500

const search = z.object({
  since: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'use RFC 3339 format')
    .optional()
    .describe('Only usage since this time (RFC 3339); 24 hours ago by default.'),
  step: z.coerce
    .number()
    .int()
    .min(MINUTE)
    .max(31 * DAY)
    .optional()
    .describe('The length of one step in seconds; by default it results in a few hundred points.'),
})

const point = z.object({
  time: z.string().describe('The start of the step (RFC 3339).'),
  provider: z.string(),
  model: z.string(),
  requests: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.number().describe('The cost in US dollars, based on the model catalog.'),
})

const usage = z
  .object({
    from: z
      .enum(['database', 'memory'])
      .describe('`database`: all replicas. `memory`: this gateway since it started.'),
    since: z.string(),
    step: z.int().describe('The length of one step in seconds.'),
    points: z
      .array(point)
      .describe('Points by time, provider and model; steps without usage are omitted.'),
  })
  .meta({ id: 'Usage' })

export const LLM_USAGE: Endpoint = {
  method: 'GET',
  path: '/api/llm/usage',
  summary: 'Usage and cost of model calls over time, by provider and model.',
  role: 'viewer',
  query: search,
  responses: { 200: { description: 'The points, oldest first.', schema: usage } },
  run: async ({ query }, { usageOf }) => {
    const { since, step } = query as z.output<typeof search>
    const now = Date.now()
    const from = since === undefined ? now - DAY * 1000 : Date.parse(since)
    const seconds = stepFor((now - from) / 1000, step)
    const found = await usageOf({ since: from, step: seconds * 1000 })
    return ok({
      from: found.from,
      since: new Date(from).toISOString(),
      step: seconds,
      points: found.points.map((one) => ({ ...one, time: new Date(one.time).toISOString() })),
    })
  },
}

const STEPS = [1, 5, 15, 60, 240, 1440].map((minutes) => minutes * MINUTE)

/** Whole minutes, and never more steps than a response may have. */
function stepFor(span: number, wanted: number | undefined): number {
  const least = Math.ceil(Math.max(0, span) / MAX_STEPS / MINUTE) * MINUTE
  const usual = STEPS.find((step) => span / step <= 300) ?? DAY
  const step = wanted === undefined ? usual : Math.ceil(wanted / MINUTE) * MINUTE
  return Math.max(step, least, MINUTE)
}
