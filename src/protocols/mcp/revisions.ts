/** Revisions with a handshake, newest first. */
export const HANDSHAKE_REVISIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]

/** Later revisions have no sessions: each request contains all the information needed. */
const FIRST_MODERN = '2026-07-28'

/** Revisions are dates: a later one that is not known yet has no handshake either. */
export function isModern(version: string | undefined): boolean {
  return version !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN
}

/** The revisions in which clients may send several messages at once. */
export const BATCH_REVISIONS: readonly string[] = ['2025-03-26', '2024-11-05']

/** Where a request of a revision without sessions states its revision. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
