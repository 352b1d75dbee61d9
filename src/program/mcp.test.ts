import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, modelOf, policies, programOf, TestServices } from '../../test/program/models.ts'
import type { Attached, Level } from '../model/policy.ts'
import type { McpMessage } from '../protocols/mcp/attributes.ts'
import { compileProgram } from './compile.ts'
import type { BackendProgram, McpProgram, Program } from './program.ts'

const ORIGIN = { kind: 'object', object: 'test', field: '' } as const

type Rules = Readonly<Record<string, unknown>> | null

function rules(level: Level, policy: string, written: Rules): readonly Attached[] {
  return policies({ mcpAuthorization: written }, level, 'backend', policy)
}

interface Written {
  readonly gateway?: readonly Attached[]
  readonly route?: readonly Attached[]
  readonly backend?: readonly Attached[]
  readonly files?: readonly Attached[]
}

function toolsOf({ gateway = [], route = [], backend = [], files = [] }: Written): Program {
  const target = { origin: ORIGIN, transport: 'mcp', options: { host: 'h' } } as const
  const targets = [
    { ...target, name: 'files', policies: files },
    { ...target, name: 'search', policies: [] },
  ]
  const tools = { kind: 'mcp', name: 'tools', origin: ORIGIN, policies: backend, targets } as const
  return programOf({
    gateway,
    routes: [{ policies: route, backends: ['tools'] }],
    backends: [{ ...tools, options: {} }],
  })
}

function mcpOf(backend: BackendProgram | undefined): McpProgram | undefined {
  return backend?.upstream.kind === 'mcp' ? backend.upstream.mcp : undefined
}

async function ask(program: Program, message: McpMessage, headers = {}) {
  const { exchange, backend } = await decide(program, { headers })
  const verdict = mcpOf(backend)?.decide(exchange, message) ?? assert.fail('no MCP rules')
  const isAllowed = verdict.permit?.stage === 'mcp'
  return { ...verdict, isAllowed, reported: exchange.decisions }
}

const call = (name: string, target = 'search'): McpMessage => ({
  methodName: 'tools/call',
  tool: { target, name },
})
const LIST: McpMessage = { methodName: 'tools/list' }

describe('MCP rules', () => {
  const allowEcho = { rules: [{ allow: "mcp.tool.name == 'echo'" }] }

  it('admit everything if there are none', async () => {
    assert.deepEqual((await ask(toolsOf({}), call('echo'))).isAllowed, true)
  })

  it('decide by method and tool, and name the deciding rule', async () => {
    const program = toolsOf({ backend: rules('backend', 'backend:tools', allowEcho) })
    assert.equal((await ask(program, call('echo'))).isAllowed, true)
    const { isAllowed, decision, reported } = await ask(program, call('delete'))
    assert.equal(isAllowed, false)
    assert.equal(reported.length, 1)
    assert.deepEqual([decision?.stage, decision?.cause], ['mcp', 'no-allow-match'])
    assert.equal(reported[0]?.cause, decision?.cause)
    const { rule, misses } = decision?.nearest ?? assert.fail()
    assert.deepEqual(
      [rule.policy, rule.kind, rule.section, rule.action, rule.index],
      ['backend:tools', 'mcpAuthorization', 'backend', 'Allow', 0],
    )
    assert.equal(misses[0]?.cause, 'false')
    assert.deepEqual(
      decision?.attributes.map(({ name, value }) => [name, value]),
      [['mcp.tool.name', 'delete']],
    )
    assert.deepEqual(
      reported[0]?.attributes.map(({ name, value }) => [name, value]),
      [
        ['mcp.tool.name', 'delete'],
        ['mcp.methodName', 'tools/call'],
        ['mcp.tool.target', 'search'],
      ],
    )
  })

  it('treat missing attributes as unset, so that Allow and Require do not match', async () => {
    const allowing = toolsOf({ backend: rules('backend', 'own', allowEcho) })
    const { isAllowed, decision } = await ask(allowing, LIST)
    assert.equal(isAllowed, false)
    assert.equal(decision?.nearest?.misses[0]?.failure?.variable, 'mcp.tool')
    for (const [action, expected] of [
      ['require', false],
      ['deny', true],
    ] as const) {
      const own = { rules: [{ [action]: "mcp.tool.arguments.path == '/'" }] }
      const program = toolsOf({ backend: rules('backend', 'own', own) })
      assert.equal((await ask(program, call('echo'))).isAllowed, expected, action)
    }
  })

  it('treat an error as no match', async () => {
    const own = { rules: [{ require: "mcp.tool.arguments.size > 1 && mcp.tool.name == 'echo'" }] }
    const program = toolsOf({ backend: rules('backend', 'own', own) })
    const message = {
      methodName: 'tools/call',
      tool: { target: 'files', name: 'echo', arguments: { size: 'x' } },
    }
    const { isAllowed, decision } = await ask(program, message)
    assert.deepEqual([isAllowed, decision?.cause], [false, 'error'])
  })

  it('of the gateway, the route, the backend and the server form one set', async () => {
    const program = toolsOf({
      gateway: rules('gateway', 'g', { rules: [{ deny: "mcp.tool.name == 'delete'" }] }),
      route: rules('route', 'r', { rules: [{ require: "request.headers['x-team'] == 'blue'" }] }),
      backend: rules('backend', 'b', {
        action: 'Allow',
        policy: { matchExpressions: ["mcp.methodName == 'tools/list'", "mcp.tool.name == 'echo'"] },
      }),
      files: rules('backend', 't', { rules: [{ allow: "mcp.tool.name.startsWith('read')" }] }),
    })
    const blue = { 'x-team': 'blue' }
    for (const [message, headers, isAllowed] of [
      [LIST, blue, true],
      [LIST, {}, false],
      [call('echo'), blue, true],
      [call('echo', 'files'), blue, true],
      [call('read_file', 'files'), blue, true],
      [call('read_file', 'search'), blue, false],
      [call('read_file', 'elsewhere'), blue, false],
      [call('delete', 'files'), blue, false],
      [call('other', 'files'), blue, false],
    ] as const) {
      const said = await ask(program, message, headers)
      assert.equal(said.isAllowed, isAllowed, JSON.stringify([message, headers]))
    }
  })

  it('in audit mode are reported but not enforced', async () => {
    const own = { mode: 'Audit', ...allowEcho }
    const program = toolsOf({ backend: rules('backend', 'own', own) })
    const { isAllowed, decision, reported } = await ask(program, call('delete'))
    assert.equal(isAllowed, true)
    assert.deepEqual([decision?.isAllowed, decision?.isEnforced], [false, false])
    assert.equal(reported.length, 1)
  })

  it('that are invalid deny everything', async () => {
    for (const where of ['gateway', 'backend', 'files'] as const) {
      const level = where === 'gateway' ? 'gateway' : 'backend'
      const program = toolsOf({ [where]: rules(level, 'broken', null) })
      const { isAllowed, decision } = await ask(program, call('echo', 'files'))
      assert.deepEqual([isAllowed, decision?.cause], [false, 'invalid-policy'], where)
    }
    const broken = rules('backend', 'own', { rules: [{ allow: 'mcp.nothing == 1' }] })
    const program = toolsOf({ backend: broken })
    assert.equal((await ask(program, call('echo'))).isAllowed, false)
    assert.ok(program.diagnostics.some(({ severity }) => severity === 'error'))
  })
})

describe('rules with unknown attributes', () => {
  const shown = async (program: Program, message: McpMessage, headers = {}) => {
    const { exchange, backend } = await decide(program, { headers })
    return mcpOf(backend)?.shows(exchange, message)
  }
  const admitted = async (program: Program, methodName: string, headers = {}) => {
    const { exchange, backend } = await decide(program, { headers })
    const verdict = mcpOf(backend)?.admit(exchange, { methodName })
    return verdict?.permit !== undefined
  }
  const of = (...list: readonly object[]) =>
    toolsOf({ backend: rules('backend', 'own', { rules: list }) })

  for (const [rule, isShown] of [
    [{ allow: "mcp.tool.name == 'echo'" }, true],
    [{ allow: "mcp.tool.name == 'add'" }, false],
    [{ allow: "mcp.tool.arguments.path == '/'" }, true],
    [{ allow: "mcp.tool.name == 'add' && mcp.tool.arguments.path == '/'" }, false],
    [{ allow: "mcp.tool.name == 'add' || mcp.tool.arguments.path == '/'" }, true],
    [{ require: '!has(mcp.tool.arguments.path)' }, true],
    [{ deny: '!has(mcp.tool.arguments.path)' }, true],
    [{ deny: "mcp.tool.arguments.path != '/'" }, true],
    [{ deny: "mcp.tool.name == 'echo' || mcp.tool.arguments.path == '/'" }, false],
    [{ deny: "mcp.tool.name == 'echo' && mcp.tool.arguments.path == '/'" }, true],
    [{ deny: "!(mcp.tool.name == 'add' && mcp.tool.arguments.path == '/')" }, false],
    [{ deny: "mcp.tool.arguments.size() == 0 ? mcp.tool.name == 'echo' : true" }, true],
    [{ require: "mcp.tool.name == 'echo' ? mcp.tool.arguments.path == '/' : true" }, true],
    [{ require: "default(mcp.tool.arguments.path, '/') == '/etc'" }, true],
    [{ deny: "mcp.tool.arguments.all(name, name != 'path')" }, true],
    [{ allow: 'cel.bind(given, mcp.tool.arguments, given.size() > 0)' }, true],
    [{ allow: "has(mcp.tool) && mcp.methodName == 'tools/call'" }, false],
    [{ allow: "mcp.methodName == 'tools/list'" }, true],
  ] as const) {
    it(`a list ${isShown ? 'shows' : 'hides'} the tool: ${JSON.stringify(rule)}`, async () => {
      const message = { methodName: 'tools/list', tool: { target: 'search', name: 'echo' } }
      assert.equal(await shown(of(rule), message), isShown)
    })
  }

  it('treat arguments as unknown for tools only', async () => {
    const program = of({ allow: "mcp.tool.arguments.path == '/'" })
    const prompt = { target: 'search', name: 'greet' }
    assert.equal(await shown(program, { methodName: 'prompts/list', prompt }), false)
  })

  it('deny a message without a tool only if every possible tool is denied', async () => {
    for (const [rule, isAdmitted] of [
      [{ allow: "mcp.tool.name == 'echo'" }, true],
      [{ require: "mcp.prompt.name == 'x'" }, true],
      [{ deny: "mcp.methodName == 'ping'" }, false],
      [{ deny: 'has(mcp.tool)' }, true],
      [{ require: "request.headers['x-team'] == 'blue'" }, false],
      [{ allow: "request.headers['x-team'] == 'blue' && mcp.tool.name == 'echo'" }, false],
    ] as const) {
      assert.equal(await admitted(of(rule), 'ping'), isAdmitted, JSON.stringify(rule))
    }
    const red = of({ deny: "request.headers['x-team'] == 'red'" })
    assert.equal(await admitted(red, 'ping', { 'x-team': 'red' }), false)
  })

  it('hide tools that exceed the bounded cost of all lists', async () => {
    const names = 'abcdefghij'.split('').join('_')
    const written = `mcp.tool.name.split('_').exists(x, mcp.tool.name.split('_').exists(y, x + y == 'jj!'))`
    for (const deny of [written, `${written} || mcp.tool.arguments.a == 1`]) {
      const own = { rules: [{ deny }] }
      const { exchange, backend } = await decide(toolsOf({ backend: rules('backend', 'own', own) }))
      const seen = new Set<boolean>()
      for (let n = 0; n < 2_000; n++) {
        const tool = { target: 'search', name: `${names}_${n}` }
        seen.add(mcpOf(backend)?.shows(exchange, { methodName: 'tools/list', tool }) ?? true)
      }
      const last = { target: 'search', name: 'x' }
      const isShown = mcpOf(backend)?.shows(exchange, { methodName: 'tools/list', tool: last })
      assert.deepEqual([[...seen], isShown], [[true, false], false])
    }
  })

  it('hide nothing in audit mode, and everything if invalid', async () => {
    const message = { methodName: 'tools/list', tool: { target: 'search', name: 'echo' } }
    const own = { mode: 'Audit', rules: [{ deny: "mcp.tool.name == 'echo'" }] }
    const audit = toolsOf({ backend: rules('backend', 'own', own) })
    assert.equal(await shown(audit, message), true)
    assert.equal(await shown(toolsOf({ backend: rules('backend', 'own', null) }), message), false)
  })
})

describe('an MCP backend', () => {
  const authorization = (rule: object, section: 'traffic' | 'backend', level: Level) =>
    policies({ authorization: { rules: [rule] } }, level, section)

  it('is guarded by traffic rules first, and then by backend rules', async () => {
    const deny = { deny: "'x' in request.headers" }
    for (const [written, stage] of [
      [{ route: authorization(deny, 'traffic', 'route') }, 'traffic'],
      [{ backend: authorization(deny, 'backend', 'backend') }, 'backend'],
    ] as const) {
      const { reply, exchange } = await decide(toolsOf(written), { headers: { x: '1' } })
      assert.equal(reply?.status, 403)
      assert.equal(exchange.decisions[0]?.stage, stage)
    }
  })
})

describe('MCP rules at non-MCP backends', () => {
  const own = { rules: [{ allow: "mcp.tool.name == 'echo'" }] }

  it('of a gateway do not affect other backends', async () => {
    const program = programOf({ gateway: rules('gateway', 'g', own) })
    const { reply, backend } = await decide(program)
    assert.deepEqual([reply, backend?.name, mcpOf(backend)], [undefined, 'up', undefined])
    assert.deepEqual(program.diagnostics, [])
  })

  for (const level of ['route', 'backend'] as const) {
    it(`of a ${level} deny, since nothing enforces them`, async () => {
      const attached = rules(level, 'own', own)
      const refs = level === 'backend' ? [{ backend: 'up', policies: attached }] : ['up']
      const route = { policies: level === 'route' ? attached : [], backends: refs }
      const model = modelOf({ routes: [route] })
      const program = compileProgram(model, undefined, new TestServices())
      assert.equal((await decide(program)).reply?.reason, 'invalid-policy')
    })
  }
})

describe('names of tools', () => {
  const target = { origin: ORIGIN, transport: 'mcp', options: { host: 'h' }, policies: [] } as const
  const tools = { kind: 'mcp', name: 'tools', origin: ORIGIN, policies: [] } as const

  for (const [servers, prefixMode, isPrefixed] of [
    [1, undefined, false],
    [2, undefined, true],
    [1, 'Conditional', false],
    [2, 'Conditional', true],
    [1, 'Always', true],
    [2, 'Always', true],
    [1, 'Never', false],
    [2, 'Never', false],
  ] as const) {
    it(`of ${servers} servers ${isPrefixed ? 'have' : 'have no'} prefix with mode ${prefixMode}`, async () => {
      const targets = Array.from({ length: servers }, (_, n) => ({ ...target, name: `s${n}` }))
      const options = prefixMode === undefined ? {} : { prefixMode }
      const backend = { ...tools, targets, options }
      const program = programOf({ routes: [{ backends: ['tools'] }], backends: [backend] })
      const { upstream } = (await decide(program)).backend ?? assert.fail()
      assert.equal(upstream.kind === 'mcp' && upstream.isPrefixed, isPrefixed)
    })
  }
})
