import * as z from 'zod'
import { DECISION_VERDICTS, type DecisionQuery } from '../../telemetry/decision-ring.ts'
import { type Endpoint, GUARDING, ok, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { decisionRecord } from './reports.ts'

const LIMIT = 100
const MAX = 10_000

const filters = {
  policy: z.string().optional().describe('Only decisions that this policy was involved in.'),
  verdict: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(DECISION_VERDICTS)))
    .optional()
    .describe(`The verdict; several are separated by commas: ${DECISION_VERDICTS.join(', ')}.`),
  stage: z.string().optional().describe('The stage of the decision.'),
  text: z
    .string()
    .max(1_000)
    .optional()
    .describe(
      'Only decisions that contain this text, in any case: in the request, the client, the rule, ' +
        'the reason or a value that is shown.',
    ),
}

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'use RFC 3339 format')

const search = z.object({
  ...filters,
  since: time.optional().describe('Only decisions since this time (RFC 3339).'),
  until: time.optional().describe('Only decisions until this time (RFC 3339).'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX)
    .default(LIMIT)
    .describe('The maximum number of records.'),
})

const foundDecisions = z.object({
  decisions: z.array(decisionRecord),
  more: z.boolean().describe('Whether there are older ones: pass the last time as `until`.'),
  oldest: z.string().nullable().describe('The time of the oldest decision that is stored.'),
  incomplete: z.string().optional().describe('What was not searched; absent if everything was.'),
})

const ofId = z.object({ id: z.string(), decisions: z.array(decisionRecord) })

export const DECISION_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/decisions',
    isEarly: true,
    summary: 'Recorded decisions of all workers, newest first.',
    role: 'viewer',
    query: search,
    responses: {
      200: {
        description: 'The records.',
        schema: foundDecisions,
      },
    },
    run: async ({ query }, { find }) => {
      const own = wanted(query)
      const [found, ends] = await Promise.all([
        find({ ...own, limit: own.limit + 1 }),
        find({ limit: 1, order: 'oldest-first' }),
      ])
      const [oldest] = ends.records
      return ok({
        decisions: found.records.slice(0, own.limit),
        more: found.records.length > own.limit,
        oldest: oldest?.time ?? null,
        ...(found.incomplete === undefined ? {} : { incomplete: found.incomplete }),
      })
    },
  },
  {
    method: 'GET',
    path: '/api/decisions/tail',
    isEarly: true,
    summary: 'New decisions as they are made, as server-sent events with JSON records.',
    role: 'viewer',
    query: z.object(filters),
    responses: {
      200: { description: 'Events, until one side closes the stream.', type: 'text/event-stream' },
    },
    run: (call, deps) => tail(call, deps),
  },
  {
    method: 'GET',
    path: '/api/decisions/{id}',
    isEarly: true,
    summary: 'The records of one request or connection.',
    role: 'viewer',
    responses: { 200: { description: 'The records.', schema: ofId } },
    run: async ({ parts }, { find }) => {
      const { id = '' } = parts
      const { records: decisions } = await find({ id, limit: MAX })
      return decisions.length === 0 ? problem(404, `no record of ${id}`) : ok({ id, decisions })
    },
  },
]

function wanted(query: Readonly<Record<string, unknown>>): DecisionQuery {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as unknown as DecisionQuery
}

/** Milliseconds. Records of workers must be requested, so there is no event to wait for. */
const PACE = 500
const MAX_TAILS = 16
/** Milliseconds by which polls overlap: the clocks of workers may differ by this much. */
const OVERLAP = 2_000
let tails = 0

async function tail(
  { query, response }: Parameters<Endpoint['run']>[0],
  { find }: ApiDeps,
): Promise<{ readonly status: number; readonly isWritten: true } | ReturnType<typeof problem>> {
  if (tails >= MAX_TAILS)
    return problem(503, `too many clients follow decisions; at most ${MAX_TAILS} are allowed`)
  tails++
  let isOpen = true
  response.on('close', () => {
    isOpen = false
    // At once: clients that come and go must not keep others from following.
    tails--
  })
  const headers = { ...GUARDING, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  response.writeHead(200, headers)
  response.write(': decisions\n\n')
  let since = Date.now()
  let seen = new Set<string>()
  while (isOpen) {
    await new Promise((resolve) => setTimeout(resolve, PACE).unref())
    if (!isOpen) break
    const from = new Date(since - OVERLAP).toISOString()
    since = Date.now()
    const { records: found } = await find({ ...wanted(query), since: from, limit: MAX })
    const texts = found.map((one) => JSON.stringify(one))
    const fresh = texts.filter((text) => !seen.has(text)).reverse()
    seen = new Set(texts)
    const events = fresh.map((text) => `event: decision\ndata: ${text}\n\n`).join('')
    const isTaken = response.write(events === '' ? ': \n\n' : events)
    // A slow client gets missed records later, as far as they are still available.
    if (!isTaken && isOpen) await drained(response)
  }
  return { status: 200, isWritten: true }
}

function drained(response: Parameters<Endpoint['run']>[0]['response']): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve)
    response.once('close', resolve)
  })
}
