import { digestOf, TokenCache } from '../src/policies/jwt-authentication/cache.ts'
import {
  ALL_ALGORITHMS,
  NOW,
  providersOf,
  type Signer,
  signerOf,
  tokenOf,
} from '../src/policies/jwt-authentication/fixtures/tokens.ts'
import { isRejection } from '../src/policies/jwt-authentication/rejection.ts'
import { parseToken, readClaims } from '../src/policies/jwt-authentication/token.ts'
import { type Verified, verifyToken } from '../src/policies/jwt-authentication/verify.ts'
import { type Contender, contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, ratio } from './report.ts'

const LENGTH = 1024

/** Cost of a token per request: the first time, and every time after. */
export async function jwt(): Promise<Report> {
  const contenders = [...ALL_ALGORITHMS.map(cold), ...parts(), ...hot()]
  const figures = await interleave(contenders)
  const p10 = (name: string) => figures.get(name)?.p10 ?? Number.NaN
  const once = p10(HOT)
  return {
    intro: [
      `CPU time of one token of ${LENGTH} characters (p10). Cold: parsed, its signature verified and`,
      'its claims checked. Hot: found by its digest among those already verified.',
    ],
    targets: [
      {
        what: HOT,
        wanted: '< 2.00 µs',
        measured: nanoseconds(once),
        met: once < 2000,
      },
    ],
    tables: [
      {
        title: 'One token',
        columns: ['what', 'p10', 'median', 'to hot'],
        rows: contenders.map(({ name }) => [
          name,
          nanoseconds(p10(name)),
          nanoseconds(figures.get(name)?.median ?? Number.NaN),
          ratio(p10(name) / once),
        ]),
      },
    ],
  }
}

const HOT = 'hot: digest and look-up, 1,000 clients'
const ONE = 'hot: digest and look-up, one client'

/** Typical claims, padded to the usual length. */
function sized(signer: Signer, sub = 'alice'): string {
  const claims = {
    aud: ['api', 'web'],
    iat: NOW / 1000,
    azp: 'client',
    scope: 'openid profile email',
    realm_access: { roles: ['reader', 'writer'] },
  }
  const of = (length: number) => tokenOf(signer, { ...claims, sub, pad: 'x'.repeat(length) })
  const missing = Math.max(0, LENGTH - of(0).length)
  return of(Math.floor((missing * 3) / 4))
}

function cold(alg: string): Contender {
  const signer = signerOf(alg)
  const providers = providersOf([signer], { audiences: ['api'] })
  const token = sized(signer)
  return contender(`cold: ${alg}`, (times) => {
    for (let i = 0; i < times; i++) sink.count += expectVerified(token, providers).size
  })
}

function expectVerified(token: string, providers: ReturnType<typeof providersOf>): Verified {
  const outcome = verifyToken(token, providers, NOW)
  if (isRejection(outcome)) throw new Error(`${outcome.fault}: ${outcome.detail}`)
  return outcome
}

function parts(): readonly Contender[] {
  const token = sized(signerOf('RS256'))
  return [
    contender('of it: parsing, RS256', (times) => {
      for (let i = 0; i < times; i++) {
        const jws = parseToken(token)
        if (isRejection(jws)) throw new Error(jws.detail)
        if (readClaims(jws.payload) !== undefined) sink.count++
      }
    }),
  ]
}

/** Requests of many clients, each with its own token. */
function hot(): readonly Contender[] {
  const signer = signerOf('ES256')
  const providers = providersOf([signer])
  const cache = new TokenCache()
  const tokens = Array.from({ length: 1000 }, (_, index) => {
    const token = sized(signer, `user-${index}`)
    cache.set(digestOf(token), expectVerified(token, providers))
    return token
  })
  return [
    contender('of it: digest alone', (times) => {
      for (let i = 0; i < times; i++) {
        sink.count += digestOf(tokens[i % tokens.length] as string).length
      }
    }),
    contender(HOT, (times) => {
      for (let i = 0; i < times; i++) {
        const known = cache.get(digestOf(tokens[i % tokens.length] as string), NOW)
        if (known === undefined) throw new Error('it is to be remembered')
        if (known.claims !== undefined) sink.count++
      }
    }),
    contender(ONE, (times) => {
      for (let i = 0; i < times; i++) {
        if (cache.get(digestOf(tokens[0] as string), NOW) !== undefined) sink.count++
      }
    }),
  ]
}
