import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { RateLimit } from './schema.ts'

const RETRY_SOON = { name: 'retry-after', value: '1' }

export const AWAY: Reply = {
  ...reply(503, 'rate-limit', '', headerEdit({ set: [RETRY_SOON] })),
  detail: 'owner-away',
}

export function tooMany({ capacity }: RateLimit, wait: number): Reply {
  const seconds = String(Math.max(1, Math.ceil(wait / 1000)))
  const set = [
    { name: 'retry-after', value: seconds },
    { name: 'ratelimit-limit', value: String(capacity) },
    { name: 'ratelimit-remaining', value: '0' },
    { name: 'ratelimit-reset', value: seconds },
  ]
  return reply(429, 'rate-limit', '', headerEdit({ set }))
}
