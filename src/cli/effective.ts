import { resolve } from 'node:path'
import {
  type Effective,
  type EffectiveBackend,
  type EffectiveListener,
  type EffectiveModel,
  type EffectivePart,
  type EffectivePins,
  type EffectiveRoute,
  effectivePolicies,
} from '../program/effective.ts'
import type { Guard } from '../program/protection.ts'
import { fetchAnalysis } from './admin-client.ts'
import { defineCommand } from './define.ts'
import { prepareFor } from './load-configuration.ts'
import { loadJudged } from './load-judged.ts'
import { type Paint, painter } from './paint.ts'
import { ADMIN, CLUSTER, configurationOf, FILES, FORMAT, formatOf, readArgs } from './read-args.ts'
import { ruleGuards } from './rule-guards.ts'

export const effective = defineCommand({
  name: 'effective',
  summary: 'list what guards each listener, route and backend, and what nothing guards',
  mayTakeLong: true,
  help: `portcullis effective [FILE|--cluster|--admin URL] [--fail-on-unprotected]
                     [--format text|json]

Lists the authentication policies and rules that guard each listener, route and backend, in
the order of evaluation, wherever they are attached.

A route is guarded if clients must authenticate or present a certificate, or if Allow
or Require rules deny at least some requests without credentials, on the way to each
backend and to each provider of an AI backend. Whether rules deny anything is proven for
all of them together and for the requests that the route matches: rules that every request
satisfies guard nothing. A route is partly guarded if some of its hostnames, matches or
backends are guarded and others admit everything. A route with only Deny rules is open by
default. Both count as unprotected, and so does a route whose rules cannot be proven either way.
Rules in audit mode and Optional or Permissive authentication guard nothing. A redirect needs
no guard, and neither does a response of the gateway itself (\`directResponse\`), unless it has
a body and a status below 400. A model is as protected as the least
protected provider that may serve it. To see which models a caller can use, run
\`explain --request 'GET /v1/models'\` with the attributes of that caller.

  FILE                    the configuration, or a file or folder of Kubernetes manifests;
                          also -f FILE (default: portcullis.yaml in the current folder)
      --cluster           use the objects in the cluster that KUBECONFIG selects
      --admin URL         use the configuration of a running gateway; sends the token in
                          PORTCULLIS_ADMIN_TOKEN
      --fail-on-unprotected
                          exit with 1 if a route is unprotected
      --format json       JSON output; short form: --json

Exit code: 0; 1 if the configuration has errors or, with --fail-on-unprotected, if a route
is unprotected; 2 for a usage error.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const { values: options } = read
    const format = formatOf(options, ['text', 'json'])
    const { environment, colour, out, err } = terminal
    const paint = painter(colour)
    const show = (found: Effective) => {
      out(format === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : render(found, paint))
      const open = unprotected(found)
      if (format !== 'json') out(summary(found, open, paint))
      return options['fail-on-unprotected'] === true && open.length > 0 ? 1 : 0
    }
    if (options.admin !== undefined) {
      const path = '/api/policies/effective'
      const found = await fetchAnalysis<Effective>(options.admin, path, environment)
      if (typeof found !== 'string') return show(found)
      err(`portcullis effective: ${found}\n`)
      return 1
    }
    const file = resolve(configurationOf(read))
    await prepareFor(file)
    const judged = loadJudged(file, terminal)
    if (judged === undefined) return 1
    const { model, places } = judged
    const guards = ruleGuards(model)
    const found = effectivePolicies(model, guards, places)
    guards.close()
    return show(found)
  },
})

function unprotected({ listeners }: Effective): readonly string[] {
  return listeners.flatMap(({ gateway, listener, routes }) =>
    routes
      .filter(({ protection }) => protection !== 'guarded' && protection !== 'no-backend')
      .map(({ route, protection }) => `${gateway}/${listener} ${route}: ${wordsOf(protection)}`),
  )
}

function summary({ listeners }: Effective, open: readonly string[], paint: Paint): string {
  if (listeners.every(({ routes }) => routes.length === 0)) {
    return `\n${paint('warn', 'nothing is served: no routes are defined')}\n`
  }
  if (open.length === 0) return `\n${paint('good', 'everything is protected')}\n`
  return `\n${paint('bad', `unprotected: ${open.length}`)}\n${open.map((one) => `  ${paint('plain', one)}\n`).join('')}`
}

function render({ listeners }: Effective, paint: Paint): string {
  return `${listeners.map((one) => listenerLines(one, paint).join('\n')).join('\n\n')}\n`
}

function listenerLines(one: EffectiveListener, paint: Paint): readonly string[] {
  const { gateway, listener, protocol, port, hostname = '*', guards, routes } = one
  const title = `listener ${gateway}/${listener}`
  return [
    `${paint('title', title)}  ${paint('faint', `${protocol} port ${port ?? '-'} host ${hostname}`)}`,
    ...guards.flatMap((guard) => guardLines(guard, '  ', paint)),
    ...routes.flatMap((route) => routeLines(route, paint)),
  ]
}

const PROTECTION = {
  guarded: 'good',
  'partly-guarded': 'warn',
  'open-by-default': 'warn',
  unknown: 'warn',
  unprotected: 'bad',
  'no-backend': 'faint',
} as const

function wordsOf(protection: EffectiveRoute['protection']): string {
  if (protection === 'unknown') return 'not known whether its rules deny anything'
  return protection.replaceAll('-', ' ')
}

function routeLines(one: EffectiveRoute, paint: Paint): readonly string[] {
  const { route, matches, hostnames, guards, backends, protection } = one
  const what = [...hostnames, ...matches].join(' ')
  const state = paint(PROTECTION[protection], wordsOf(protection))
  return [
    `  ${paint('title', `route ${route}`)}  ${paint('faint', what)}  ${state}`,
    ...guards.flatMap((guard) => guardLines(guard, '    ', paint)),
    ...backends.flatMap((backend) => backendLines(backend, paint)),
  ]
}

function backendLines(one: EffectiveBackend, paint: Paint): readonly string[] {
  const { backend, guards, providers = [], models = [], targets = [] } = one
  const partLines = (noun: string, part: EffectivePart) => [
    `      ${paint('plain', `${noun} ${part.name}`)}${noun === 'provider' || part.protection !== 'guarded' ? `  ${paint(PROTECTION[part.protection], wordsOf(part.protection))}` : ''}`,
    ...part.guards.flatMap((guard) => guardLines(guard, '        ', paint)),
    ...(part.pins === undefined ? [] : [pinLine(part.pins, '        ', paint)]),
    ...(part.tools === undefined
      ? []
      : [`        ${paint('name', 'tools')} ${paint('plain', part.tools.join(', '))}`]),
  ]
  return [
    `    ${paint('plain', `backend ${backend}`)}`,
    ...guards.flatMap((guard) => guardLines(guard, '      ', paint)),
    ...providers.flatMap((provider) => partLines('provider', provider)),
    ...models.map((model) => modelLine(model, paint)),
    ...targets.flatMap((target) => partLines('server', target)),
  ]
}

function modelLine({ name, routing, providers, protection }: EffectiveModel, paint: Paint): string {
  const by = routing === undefined ? 'served by' : `${routing}, served by`
  const state = paint(PROTECTION[protection], wordsOf(protection))
  return `      ${paint('plain', `model ${name}`)}  ${paint('faint', `${by} ${providers.join(', ')}`)}  ${state}`
}

function pinLine({ mode, tools }: EffectivePins, indent: string, paint: Paint): string {
  const what = tools.length === 0 ? 'no tools' : tools.join(', ')
  const state = mode === 'Enforce' ? '' : paint('warn', '  not enforced')
  return `${indent}${paint('name', 'pins')} ${paint('plain', what)}${state}`
}

function unenforcedText({ isConditional, failsOpen }: Guard): string {
  if (failsOpen === true) return 'fails open'
  return isConditional === true ? 'by condition' : 'not enforced'
}

function guardLines(guard: Guard, indent: string, paint: Paint): readonly string[] {
  const { kind, policy, level, origin, rules, isEnforced, isInvalid } = guard
  const note = isInvalid ? paint('bad', '  invalid: denies all') : ''
  const state = isEnforced ? note : paint('warn', `  ${unenforcedText(guard)}`)
  return [
    `${indent}${paint('name', kind)} ${paint('plain', policy)}  ${paint('faint', `${level}, ${origin}`)}${state}`,
    ...rules.map(
      ({ action, expression }) =>
        `${indent}  ${paint('plain', action.padEnd(7))} ${paint('plain', expression)}`,
    ),
  ]
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...CLUSTER,
      ...ADMIN,
      'fail-on-unprotected': { type: 'boolean' },
      ...FORMAT,
    },
  })
}
