import { JSON_VALUE, mapOf, STRING } from '../../cel/check/types.ts'
import { clientsOf } from '../../model/gateway.ts'
import { CERTIFICATE_FIELDS } from '../place-facts.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import { any, type Formula, negation } from '../symbolic/formula.ts'
import type { Attribute } from '../symbolic/leaves.ts'
import type { Space } from '../symbolic/space.ts'
import type { Entry } from './entries.ts'

/** What a listener asks of clients in the handshake, and what follows for a comparison. */

/** Every certificate has one: it stands for the whole. */
const SUBJECT: Attribute = {
  steps: ['source', 'subject'],
  types: [mapOf(STRING, JSON_VALUE), STRING],
}

/** After the rules: what they read has the type that they read it with. */
export function learnCertificate(space: Space, { where }: Entry): void {
  if (clientsOf(where.listener) === 'Require') space.learnAttribute(SUBJECT)
}

/** That the client has none, where the handshake fails without. */
export function certificateMissing(space: Space, { where }: Entry): readonly Formula[] {
  if (clientsOf(where.listener) !== 'Require') return []
  return [negation(space.isThere(SUBJECT, NO_NAMES))]
}

/** Nothing is known of a certificate where there is none. */
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
 * What is known of the certificate by the listener that admits the request: the other one may
 * ask for less or for more.
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

/** Why it is not known what becomes of certificates that only one of the two looks at. */
export function otherCertificates(entry: Entry, other: Entry): string | undefined {
  const [own, others] = [clientsOf(entry.where.listener), clientsOf(other.where.listener)]
  if (own === undefined && others === 'Optional') {
    return '`tls.clients` differs: client certificates are requested, and connections with an invalid one are closed'
  }
  // Whom the one admits, the other closes without a certificate, which is shown by an example.
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
