import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { UNRECORDED } from '../../exchange/fixtures/recorded.ts'
import { Deadlines } from '../deadlines.ts'
import type { DownstreamEvents } from '../downstream.ts'
import { NO_LINES, NO_NAMES } from './field-lines.ts'
import { HEAD_LIMITS } from './message.ts'
import { ResponseHead, readResponseHead } from './response-head.ts'
import { ServerConnection } from './server-connection.ts'
import {
  type ServerState,
  STATES,
  STEP_NAMES,
  type StateName,
  type StepName,
} from './server-states.ts'

const NAMES = Object.keys(STATES) as readonly StateName[]

/** The states as independent facts, with each step spelled out: what the table says in one word. */
interface Facts {
  readonly phase: 'idle' | 'head' | 'exchange' | 'tunnel' | 'closing' | 'closed'
  readonly isRead: boolean
  readonly isPaused: boolean
  readonly isWhole: boolean
  readonly isLost: boolean
  readonly hasResponded: boolean
  readonly isUnwanted: boolean
  readonly hasLeft: boolean
}

const START: Facts = {
  phase: 'idle',
  isRead: false,
  isPaused: false,
  isWhole: false,
  isLost: false,
  hasResponded: false,
  isUnwanted: false,
  hasLeft: false,
}

/** Undefined: the step is invalid in this state. */
function plain(facts: Facts, step: StepName): Facts | undefined {
  const { phase, isRead, isPaused, isWhole, isLost, hasResponded, isUnwanted, hasLeft } = facts
  const isAwaited = phase === 'idle' || phase === 'head'
  const isOpen = phase === 'exchange' && !isWhole && !isLost
  switch (step) {
    case 'begin':
      return phase === 'idle' ? { ...START, phase: 'head' } : undefined
    case 'request':
      return isAwaited ? { ...START, phase: 'exchange' } : undefined
    case 'requestWhole':
    case 'reject':
      return isAwaited ? { ...START, phase: 'exchange', isWhole: true } : undefined
    case 'read':
      return isOpen && !isRead && !hasResponded ? { ...facts, isRead: true } : undefined
    case 'pause':
      if (!isOpen || !isRead || isPaused || isUnwanted) return undefined
      return hasResponded ? { ...facts, isUnwanted: true } : { ...facts, isPaused: true }
    case 'resume':
      return isOpen && isPaused ? { ...facts, isPaused: false } : undefined
    case 'end':
      return isOpen ? { ...facts, isWhole: true } : undefined
    case 'spoil':
      return isOpen ? { ...facts, isLost: true } : undefined
    case 'respond':
      if (!isOpen || !isRead || hasResponded) return undefined
      return { ...facts, hasResponded: true, isUnwanted: isPaused, isPaused: false }
    case 'finish':
      return phase === 'exchange' ? START : undefined
    case 'upgrade': {
      const mayTunnel = phase === 'exchange' && !isLost && !hasResponded
      return mayTunnel ? { ...START, phase: 'tunnel' } : undefined
    }
    case 'leave':
      if (phase === 'idle') return { ...START, phase: 'closing' }
      return phase === 'tunnel' && !hasLeft ? { ...facts, hasLeft: true } : undefined
    case 'close':
      return phase === 'closed' ? undefined : { ...START, phase: 'closed' }
  }
}

describe('the state table', () => {
  it('matches a plain model on every path', () => {
    const seen = new Set<string>()
    const reached = new Set<StateName>()
    const walk = (state: ServerState, facts: Facts): void => {
      const key = `${state.name} ${JSON.stringify(facts)}`
      if (seen.has(key)) return
      seen.add(key)
      reached.add(state.name)
      const { phase, isRead, isPaused, isWhole, isLost, hasResponded } = facts
      const isExchange = phase === 'exchange'
      assert.equal(state.isExchange, isExchange, key)
      assert.equal(state.isWhole, isExchange && isWhole, key)
      assert.equal(state.hasResponded, hasResponded, key)
      const readsBody = isExchange && isRead && !isPaused && !isWhole && !isLost
      const readsHead = phase === 'idle' || phase === 'head'
      const reads = readsBody ? 'body' : readsHead ? 'head' : phase === 'tunnel' ? phase : 'nothing'
      assert.equal(state.reads, reads, key)
      for (const step of STEP_NAMES) {
        const next = state.on[step]
        const after = plain(facts, step)
        assert.equal(next !== undefined, after !== undefined, `${key}: ${step}`)
        if (next !== undefined && after !== undefined) walk(next, after)
      }
    }
    walk(STATES.idle, START)
    assert.deepEqual([...reached].toSorted(), [...NAMES].toSorted())
  })

  it('lists the same steps in the same order for each state', () => {
    for (const name of NAMES) assert.deepEqual(Object.keys(STATES[name].on), STEP_NAMES)
  })
})

const LIMITS = {
  ...HEAD_LIMITS,
  idle: 60_000,
  headTimeout: 60_000,
  bodyTimeout: 60_000,
  writeTimeout: 60_000,
  body: Number.POSITIVE_INFINITY,
  lowersNames: false,
  upgrades: new Set(['x']),
}

/** One connection, with the actions of its owner and its client. */
class Talk {
  readonly client: Socket
  readonly own: ServerConnection
  received = ''
  takesMore = true
  closed = 0
  finished = 0
  aborted = 0

  constructor(client: Socket, socket: Socket, deadlines: Deadlines) {
    this.client = client
    client.on('data', (bytes) => (this.received += bytes))
    client.on('error', () => {})
    const events: DownstreamEvents = {
      request: () => {},
      rejected: () => {},
      unreadable: () => {},
      aborted: () => void this.aborted++,
      drained: () => {},
      finished: () => void this.finished++,
      closed: () => void this.closed++,
    }
    this.own = new ServerConnection(socket, LIMITS, deadlines, events)
    socket.resume()
  }

  get responses(): number {
    return this.received.split('HTTP/1.1 200 OK').length - 1
  }

  async send(text: string, state: StateName): Promise<void> {
    this.client.write(text)
    await this.until(state)
  }

  read(): void {
    this.own.readBody({ write: () => this.takesMore, end: () => {}, abort: () => {} }, false)
  }

  reply(): void {
    this.own.reply(UNRECORDED, 200, NO_LINES, 'hello')
  }

  async until(state: StateName): Promise<void> {
    for (let turn = 0; turn < 2_000 && this.own.state !== state; turn++) await pass()
    assert.equal(this.own.state, state)
  }
}

/** Waits some turns of the event loop, so that bytes in flight arrive. */
async function pass(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((done) => setTimeout(done, 1))
}

const POST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n'
const CHUNKED = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const LAST = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
const UPGRADE = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'

function switching(): ResponseHead {
  const bytes = Buffer.from('HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  const head = new ResponseHead()
  assert.ok(readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head) > 0)
  return head
}

/** How to reach each state. `done` lasts only until the end of a body. */
const WAYS: Readonly<Record<Exclude<StateName, 'done'>, (talk: Talk) => Promise<void>>> = {
  idle: (talk) => talk.until('idle'),
  head: (talk) => talk.send('GET / HTTP/1.1\r\nho', 'head'),
  unread: (talk) => talk.send(POST, 'unread'),
  flowing: async (talk) => {
    await WAYS.unread(talk)
    talk.read()
  },
  paused: async (talk) => {
    await WAYS.unread(talk)
    talk.takesMore = false
    talk.read()
    await talk.send('ab', 'paused')
  },
  whole: (talk) => talk.send(GET, 'whole'),
  lost: async (talk) => {
    await talk.send(CHUNKED, 'unread')
    talk.read()
    await talk.send('no size\r\n', 'lost')
  },
  late: async (talk) => {
    await WAYS.flowing(talk)
    talk.reply()
  },
  discarded: async (talk) => {
    await WAYS.paused(talk)
    talk.reply()
  },
  ruined: async (talk) => {
    await talk.send(CHUNKED, 'unread')
    talk.read()
    talk.reply()
    await talk.send('no size\r\n', 'ruined')
  },
  tunnel: async (talk) => {
    await talk.send(UPGRADE, 'whole')
    const sink = { write: () => true, end: () => {}, abort: () => {} }
    assert.ok(talk.own.tunnel(switching(), NO_NAMES, NO_LINES, sink))
  },
  leaving: async (talk) => {
    await WAYS.tunnel(talk)
    talk.own.endTunnel()
  },
  closing: async (talk) => {
    await talk.send(LAST, 'whole')
    talk.reply()
  },
  closed: async (talk) => {
    await WAYS.whole(talk)
    talk.own.abort()
  },
}

type Deed = readonly [
  what: string,
  deed: (talk: Talk) => void,
  after: (state: ServerState) => StateName,
]

const { idle, closing, closed, lost } = STATES
const isAbout = (state: ServerState, ...names: readonly StateName[]) => names.includes(state.name)

const DEEDS: readonly Deed[] = [
  [
    'a response',
    (talk) => talk.reply(),
    (state) => {
      if (!state.isExchange || state.hasResponded) return state.name
      // Unread bytes precede the next request, so there is none.
      return (state.on.respond ?? (state.isWhole ? idle : closing)).name
    },
  ],
  [
    'more room for the body',
    ({ own }) => own.resumeBody(),
    ({ on, name }) => on.resume?.name ?? name,
  ],
  ['an abort', ({ own }) => own.abort(), () => closed.name],
  ['a drain', ({ own }) => own.drain(), ({ name }) => name],
  [
    'the end of the time',
    ({ own }) => own.expire(),
    (state) => {
      if (state.name === 'head') return closing.name
      return state.isExchange && !state.isWhole && !state.hasResponded ? lost.name : closed.name
    },
  ],
  [
    'one more byte',
    ({ client }) => client.write('G'),
    (state) => (state === idle ? 'head' : state.name),
  ],
  [
    'the rest of a body',
    ({ client }) => client.write('0123456789'),
    (state) => {
      if (isAbout(state, 'idle')) return 'head'
      if (state.name === 'flowing') return 'whole'
      // The remaining bytes of the ten are the beginning of a request.
      if (isAbout(state, 'late')) return idle.name
      return isAbout(state, 'discarded') ? 'head' : state.name
    },
  ],
  [
    'the end of the client',
    ({ client }) => client.end(),
    (state) => {
      if (isAbout(state, 'whole', 'tunnel')) return state.name
      return closed.name
    },
  ],
  ['a reset of the client', ({ client }) => client.resetAndDestroy(), () => closed.name],
]

describe('a connection is in the state of the table', () => {
  const deadlines = new Deadlines(10_000)
  const accepted: Socket[] = []
  const waiting: ((socket: Socket) => void)[] = []
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    accepted.push(socket)
    socket.on('error', () => {})
    waiting.shift()?.(socket)
  })
  let port = 0
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => {
    for (const socket of accepted) socket.destroy()
    server.close()
  })

  const open = async (): Promise<Talk> => {
    const coming = new Promise<Socket>((resolve) => waiting.push(resolve))
    const client = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    return new Talk(client, await coming, deadlines)
  }

  for (const [from, way] of Object.entries(WAYS)) {
    for (const [what, deed, next] of DEEDS) {
      it(`${from}: ${what}`, async () => {
        const talk = await open()
        await way(talk)
        assert.equal(talk.own.state, from)
        const state = STATES[from as StateName]
        const expected = from === 'closed' ? 'closed' : next(state)
        deed(talk)
        await talk.until(expected)
        await pass(2)
        assert.equal(talk.own.state, expected, 'and it stays so')
        // However it continues, the exchange ends once, without a second response.
        talk.reply()
        talk.own.abort()
        talk.client.destroy()
        await talk.until('closed')
        await pass(2)
        assert.equal(talk.closed, 1)
        assert.ok(talk.responses <= 1, talk.received)
        assert.ok(talk.finished + talk.aborted <= 2)
      })
    }
  }

  it('leaves no connections', () => assert.equal(deadlines.size, 0))
})
