import type { IncomingMessage } from 'node:http'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import type { DecisionQuery } from '../telemetry/decision-ring.ts'
import { type Answer, json } from './servers.ts'

export type FindDecisions = (query: DecisionQuery) => Promise<readonly DecisionRecord[]>

const LIMIT = 100
const MOST = 10_000
const VERDICTS = ['allowed', 'denied', 'skipped', 'would-deny'] as const
const PATH = '/api/decisions'

/** Records of decisions: the newest, and those of one id. */
export function decisionResponses(find: FindDecisions): ReadonlyMap<string, Answer> {
  return new Map<string, Answer>([
    [
      PATH,
      async (request, response) => {
        const query = queryOf(request)
        if (typeof query === 'string') json(response, 400, { error: query })
        else json(response, 200, { decisions: await find(query) })
      },
    ],
    [
      `${PATH}/`,
      async (request, response) => {
        const id = idOf(request)
        const decisions = id === '' ? [] : await find({ id, limit: MOST })
        if (decisions.length > 0) json(response, 200, { id, decisions })
        else json(response, 404, { error: `there is no record of ${id}` })
      },
    ],
  ])
}

function idOf({ url = '' }: IncomingMessage): string {
  try {
    return decodeURIComponent(url.slice(PATH.length + 1).split('?', 1)[0] as string)
  } catch {
    return ''
  }
}

/** A text where it was not understood. */
function queryOf({ url = '' }: IncomingMessage): DecisionQuery | string {
  const asked = new URLSearchParams(url.split('?').slice(1).join('?'))
  for (const name of asked.keys()) {
    if (!FILTERS.has(name)) return `no filter is called ${name}: ${[...FILTERS].join(', ')} are`
  }
  const limit = Number(asked.get('limit') ?? LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST) return `limit is 1 to ${MOST}`
  const verdict = VERDICTS.find((known) => known === asked.get('verdict'))
  if (asked.has('verdict') && verdict === undefined) return `verdict is ${VERDICTS.join(', ')}`
  const since = asked.get('since')
  if (since !== null && Number.isNaN(Date.parse(since))) return 'since is a time of RFC 3339'
  const policy = asked.get('policy')
  const stage = asked.get('stage')
  return {
    limit,
    ...(policy === null ? {} : { policy }),
    ...(stage === null ? {} : { stage }),
    ...(since === null ? {} : { since }),
    ...(verdict === undefined ? {} : { verdict }),
  }
}

const FILTERS: ReadonlySet<string> = new Set(['policy', 'verdict', 'stage', 'since', 'limit'])
