import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { CLIENT_FAULTS, type Reaction } from '../fuzz/http2-client-faults.ts'
import { GO_CLIENT, GO_SERVER, reactionsTo } from '../fuzz/http2-differences.ts'
import {
  type Expected,
  type RenderedResponses,
  renderResponses,
  responseScript,
} from '../fuzz/http2-response-scripts.ts'
import { type Rendered, render, script } from '../fuzz/http2-scripts.ts'
import { SERVER_FAULTS } from '../fuzz/http2-server-faults.ts'
import { fuzz } from '../fuzz/runs.ts'
import { type GoOutcome, GoWire, WITHOUT_GO } from './go-wire.ts'
import { goRequest, requestAsGo } from './go-words.ts'

/** Milliseconds that Go's goroutines get; the longer ones apply if a goroutine may be late. */
const TIMEOUTS_MS = [2, 30, 500]
/** Additional requests, into which faults are injected. */
const BESIDES = 2

const PATH_OF_SCRIPT = /^\/\d+\/\d+\//

const OPTIONS = { skip: WITHOUT_GO, concurrency: 16 }

describe('scripted connections, compared with Go', OPTIONS, () => {
  let go: GoWire
  before(() => {
    go = new GoWire()
  })
  after(() => go.close())

  /** Retries with a longer timeout until there is no problem. */
  async function patiently(
    ask: (patience: number) => Promise<GoOutcome>,
    problemWith: (outcome: GoOutcome) => string,
  ): Promise<void> {
    let problem = ''
    for (const patience of TIMEOUTS_MS) {
      problem = problemWith(await ask(patience))
      if (problem === '') return
    }
    assert.fail(problem)
  }

  const client = (rendered: Rendered) => (patience: number) =>
    go.ask({ client: Buffer.concat(rendered.frames).toString('base64'), patience })
  const server = (rendered: RenderedResponses, count: number) => (patience: number) =>
    go.ask({ server: rendered.bytes.toString('base64'), count, patience })

  it('clients without a fault: the same requests, as many bytes of responses', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (own) => {
        const rendered = render(own)
        await patiently(client(rendered), (outcome) => {
          const reaction = reactionOf(outcome, 0)
          if (reaction !== 'none') return `it says ${outcome.said}`
          return problemOf(outcome, rendered) || problemOfBytes(outcome, rendered)
        })
      }),
      fuzz(0.01, 40),
    )
  })

  for (const fault of CLIENT_FAULTS)
    it(`client: ${fault.name} (${fault.section})`, async () => {
      const allowed = reactionsTo(fault, GO_SERVER)
      await fc.assert(
        fc.asyncProperty(script, async (own) => {
          const rendered = render(own, fault.frames)
          await patiently(client(rendered), (outcome) => {
            const reaction = reactionOf(outcome, rendered.faultId)
            if (!allowed.includes(reaction)) return `Go: ${reaction} (${outcome.said})`
            return reaction.startsWith('connection') ? '' : problemOf(outcome, rendered)
          })
        }),
        fuzz(0.0005, 2),
      )
    })

  it('servers without a fault: the same responses', async () => {
    await fc.assert(
      fc.asyncProperty(responseScript, async (own) => {
        const rendered = renderResponses(own)
        if (rendered.bytes.length === 0) return
        await patiently(server(rendered, rendered.expected.length), (outcome) =>
          problemOfResponses(outcome, rendered.expected),
        )
      }),
      fuzz(0.01, 40),
    )
  })

  for (const fault of SERVER_FAULTS)
    it(`server: ${fault.name} (${fault.section})`, async () => {
      const reactions = reactionsTo(fault, GO_CLIENT)
      const allowed = reactions.map((own) => outcomeOf(fault.name, own))
      await fc.assert(
        fc.asyncProperty(responseScript, async (own) => {
          const rendered = renderResponses(own, fault.frames)
          const { expected } = rendered
          await patiently(server(rendered, expected.length + BESIDES), ({ seen }) => {
            const told = seen[expected.length] ?? ''
            return allowed.includes(told === 'failed' ? 'failed' : 'told') ? '' : `Go: ${told}`
          })
        }),
        fuzz(0.0005, 2),
      )
    })
})

/**
 * The expected outcome of the response that carries the fault; it may be complete before the fault.
 */
const outcomeOf = (name: string, reaction: Reaction) =>
  reaction === 'none' || name.endsWith('after the end of a response') ? 'told' : 'failed'

function reactionOf({ said }: GoOutcome, id: number): Reaction {
  const error = said.find((own) => own.startsWith('goaway') && own !== 'goaway 0')
  if (error !== undefined) return `connection ${Number(error.split(' ')[1])}`
  const reset = said.find((own) => own.startsWith(`reset ${id} `))
  return reset === undefined ? 'none' : `stream ${Number(reset.split(' ')[2])}`
}

function problemOf({ seen }: GoOutcome, { whole, dropped }: Rendered): string {
  const own = seen.map(goRequest).filter((text) => PATH_OF_SCRIPT.test(JSON.parse(text)[1]))
  const needed = whole.filter((text) => !dropped.has(text)).map(requestAsGo)
  const possible = whole.map(requestAsGo)
  const missing = needed.filter((text) => !own.includes(text))
  const wrong = own.filter((text) => !possible.includes(text))
  return missing.length + wrong.length === 0 ? '' : `missing ${missing}, wrong ${wrong}`
}

function problemOfBytes({ sent = {} }: GoOutcome, { responses }: Rendered): string {
  for (const [id, { min, max }] of responses) {
    const bytes = sent[id] ?? 0
    if (bytes < min || bytes > max) return `${bytes} bytes of ${id}, not ${min} to ${max}`
  }
  return ''
}

function problemOfResponses({ seen }: GoOutcome, expected: readonly Expected[]): string {
  for (const [i, one] of expected.entries()) {
    const own = seen[i] ?? ''
    const theirs = own === 'failed' ? own : JSON.stringify(JSON.parse(own))
    const wanted = one.isWhole ? responseAsGo(one) : 'failed'
    if (theirs !== wanted) return `${theirs}, not ${wanted}`
  }
  return ''
}

function responseAsGo({ response }: Expected): string {
  const isBodiless = response.status === 204 || response.status === 304
  const body = isBodiless ? '' : response.body.join('')
  const hasLength = response.hasLength && response.body.length > 0 && !isBodiless
  const lines = response.fields.map(([name, value]) => `${name}: ${value}`)
  if (hasLength) lines.push(`content-length: ${body.length}`)
  const late = isBodiless ? [] : response.trailers.map(([name, value]) => `${name}: ${value}`)
  return JSON.stringify([response.status, lines.toSorted(), body, late.toSorted()])
}
