import { type Point, pointsOf } from '../analysis/points.ts'
import { Reasoning } from '../analysis/reasoning.ts'
import type { Model } from '../model/model.ts'
import type { HypotheticalRequest } from '../program/explain.ts'
import type { GuardedWay } from '../program/protection.ts'
import type { Verdicts } from './verdicts.ts'

/**
 * Whether Allow and Require rules on MCP messages deny anything without credentials. The program
 * first evaluates some messages; if it denies none, a proof is attempted.
 */
export function messageGuards(model: Model, { decide }: Pick<Verdicts, 'decide'>) {
  let known: readonly Point[] | undefined
  return (way: GuardedWay, requests: readonly HypotheticalRequest[]) => {
    known ??= [...pointsOf(model)].filter(({ stage }) => stage === 'mcp')
    const points = known.filter(({ where }) => isAt(where, way))
    const isDenied = requests.some((request) =>
      bodiesFor(points).some((body) => {
        const { isAdmitted, isUnserved, route } = decide(withMessage(request, body))
        return !isAdmitted && isUnserved !== true && route === way.route?.name
      }),
    )
    if (isDenied) return 'something'
    const isProven = points.every((point) => {
      const reasoning = new Reasoning(point)
      return reasoning.isImpossible(reasoning.denied())
    })
    return isProven ? 'nothing' : 'unknown'
  }
}

function isAt(
  { gateway, listener, route, rule, backend, server }: Point['where'],
  way: GuardedWay,
) {
  return (
    gateway.name === way.gateway.name &&
    listener.name === way.listener.name &&
    route?.name === way.route?.name &&
    rule === way.rule &&
    backend?.name === way.backend &&
    (way.provider === undefined || server === undefined || server.name === way.provider)
  )
}

/** Uses names that no rule mentions, and those that rules mention. */
function bodiesFor(points: readonly Point[]): readonly string[] {
  const texts = points.flatMap(({ rules }) => rules.map(({ rule }) => rule.expression))
  const written = texts.flatMap((text) => [...text.matchAll(/'([^'\\]*)'|"([^"\\]*)"/g)])
  const names = ['any', ...written.map(([, one, other]) => one ?? other ?? '')]
  const targets = points.flatMap(({ where: { backend, server } }) => {
    if (server !== undefined) return [server.name]
    return backend?.kind === 'mcp' ? backend.targets.map(({ name }) => name) : []
  })
  const all = new Set([...names, ...targets.flatMap((own) => names.map((one) => `${own}_${one}`))])
  return [...all]
    .slice(0, MAX_NAMES)
    .flatMap((name) => [
      bodyOf('tools/call', { name, arguments: {} }),
      bodyOf('prompts/get', { name }),
    ])
}

const MAX_NAMES = 64

function bodyOf(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function withMessage(request: HypotheticalRequest, body: string): HypotheticalRequest {
  const content = Buffer.from(body)
  return {
    ...request,
    method: 'POST',
    headers: [...request.headers, ['content-length', String(content.length)]],
    body: {
      content,
      rejected: undefined,
      limits: { body: content.length, json: content.length },
    },
  }
}
