import * as z from 'zod'
import type { DecisionQuery } from '../../telemetry/decision-ring.ts'
import { type Endpoint, GUARDING, ok, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { decisionRecord } from './reports.ts'

const LIMIT = 100
const MAX = 10_000
const VERDICTS = ['allowed', 'denied', 'skipped', 'would-deny'] as const

const filters = {
  policy: z.string().optional().describe('Only decisions that this policy was involved in.'),
  verdict: z.enum(VERDICTS).optional().describe('The verdict.'),
  stage: z.string().optional().describe('The stage of the decision.'),
}

const search = z.object({
  ...filters,
  since: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'use RFC 3339 format')
    .optional()
    .describe('Only decisions since this time (RFC 3339).'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX)
    .default(LIMIT)
    .describe('The maximum number of records.'),
})

const ofId = z.object({ id: z.string(), decisions: z.array(decisionRecord) })

export const DECISION_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/decisions',
    summary: 'Recorded decisions of all workers, newest first.',
    role: 'viewer',
    query: search,
    responses: {
      200: {
        description: 'The records.',
        schema: z.object({ decisions: z.array(decisionRecord) }),
      },
    },
    run: async ({ query }, { find }) => ok({ decisions: await find(wanted(query)) }),
  },
  {
    method: 'GET',
    path: '/api/decisions/tail',
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
    summary: 'The records of one request or connection.',
    role: 'viewer',
    responses: { 200: { description: 'The records.', schema: ofId } },
    run: async ({ parts }, { find }) => {
      const { id = '' } = parts
      const decisions = await find({ id, limit: MAX })
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
  })
  const headers = { ...GUARDING, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  response.writeHead(200, headers)
  response.write(': decisions\n\n')
  let since = Date.now()
  let seen = new Set<string>()
  try {
    while (isOpen) {
      await new Promise((resolve) => setTimeout(resolve, PACE).unref())
      if (!isOpen) break
      const from = new Date(since - OVERLAP).toISOString()
      since = Date.now()
      const found = await find({ ...wanted(query), since: from, limit: MAX })
      const texts = found.map((one) => JSON.stringify(one))
      const fresh = texts.filter((text) => !seen.has(text)).reverse()
      seen = new Set(texts)
      const events = fresh.map((text) => `event: decision\ndata: ${text}\n\n`).join('')
      const isTaken = response.write(events === '' ? ': \n\n' : events)
      // A slow client gets missed records later, as far as they are still available.
      if (!isTaken && isOpen) await drained(response)
    }
  } finally {
    tails--
  }
  return { status: 200, isWritten: true }
}

function drained(response: Parameters<Endpoint['run']>[0]['response']): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve)
    response.once('close', resolve)
  })
}
