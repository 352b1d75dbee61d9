import { JSON_VALUE, mapOf, STRING } from '../../cel/check/types.ts'
import { clientsOf } from '../../model/gateway.ts'
import { CERTIFICATE_FIELDS } from '../place-facts.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import { any, type Formula, negation } from '../symbolic/formula.ts'
import type { Attribute } from '../symbolic/leaves.ts'
import type { Space } from '../symbolic/space.ts'
import type { Entry } from './entries.ts'

/** What a listener requests from clients in the handshake, and what that means for a comparison. */

/** Every certificate has a subject, so it represents the whole certificate. */
const SUBJECT: Attribute = {
  steps: ['source', 'subject'],
  types: [mapOf(STRING, JSON_VALUE), STRING],
}

/** Call this after learning the rules, so attributes keep the type that rules read them with. */
export function learnCertificate(space: Space, { where }: Entry): void {
  if (clientsOf(where.listener) === 'Require') space.learnAttribute(SUBJECT)
}

/** The client has no certificate, although the handshake fails without one. */
export function certificateMissing(space: Space, { where }: Entry): readonly Formula[] {
  if (clientsOf(where.listener) !== 'Require') return []
  return [negation(space.isThere(SUBJECT, NO_NAMES))]
}

/** Without a certificate, none of its fields is known. */
export function certificateAxioms(space: Space, entries: readonly Entry[]): readonly Formula[] {
  if (entries.every(({ where }) => clientsOf(where.listener) !== 'Require')) return []
  const isSubject = space.isThere(SUBJECT, NO_NAMES)
  return space
    .attributesBelow('source')
    .filter(({ steps: [, field = ''] }) => FIELDS.has(field))
    .map((one) => any([negation(space.isThere(one, NO_NAMES)), isSubject]))
}

const NO_NAMES = {}
const FIELDS: ReadonlySet<string> = new Set(CERTIFICATE_FIELDS)

/**
 * What is known about the certificate at the listener that admits the request. The other listener
 * may request more or less.
 */
export function withCertificateOf(facts: Facts, { points }: Entry): Facts {
  const own = new Map(facts)
  for (const field of CERTIFICATE_FIELDS) {
    const name = `source.${field}`
    const fact = points[0]?.facts.get(name)
    if (fact === undefined) own.delete(name)
    else own.set(name, fact)
  }
  return own
}

/** Why the result is unknown for certificates that only one of the two listeners verifies. */
export function otherCertificates(entry: Entry, other: Entry): string | undefined {
  const [own, others] = [clientsOf(entry.where.listener), clientsOf(other.where.listener)]
  if (own === undefined && others === 'Optional') {
    return '`tls.clients` differs: client certificates are requested, and connections with an invalid one are closed'
  }
  // If one listener admits the client and the other closes the connection because there is no
  // certificate, an example shows it.
  if (own === undefined || others !== undefined || !readsCertificate(other)) return undefined
  return '`tls.clients` differs, and rules read certificates that are not requested there'
}

function readsCertificate({ points }: Entry): boolean {
  return points.some(({ rules }) =>
    rules.some(({ reads }) =>
      reads.some(({ variable, fields: [field] }) => {
        return variable === 'source' && (field === undefined || FIELDS.has(field))
      }),
    ),
  )
}
