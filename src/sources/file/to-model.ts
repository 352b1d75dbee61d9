import * as z from 'zod'
import { collector } from '../../diagnostics/report.ts'
import type { Result } from '../../diagnostics/result.ts'
import type { Backend } from '../../model/backend.ts'
import { freeze } from '../../model/freeze.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { attachPolicies } from './attach.ts'
import { defined } from './defined.ts'
import type { Document, Path } from './document.ts'
import { type NamedFile, namedFiles, type ReadText } from './files.ts'
import { uniqueNames } from './names.ts'
import { readPolicies } from './policies.ts'
import { checkPorts } from './ports.ts'
import { parseAt, type Reading } from './reading.ts'
import { resolveBackends, resolveParents } from './references.ts'
import { TOP_LEVEL_KEYS } from './schema.ts'
import { readBackend } from './sections/backends.ts'
import { readBinds } from './sections/binds.ts'
import { configSchema, DEFAULT_SETTINGS } from './sections/config.ts'
import { readGateway } from './sections/gateways.ts'
import { type Read, readRoute, readTcpRoute } from './sections/routes.ts'
import { readSpecial } from './sections/special.ts'
import { readTargeted } from './sections/targeted.ts'
import { warnOfNoEffect } from './unsupported.ts'

export interface ModelOptions {
  readonly resolve: (name: string) => string
  readonly readText: ReadText
}

export interface ReadModel {
  /** A Model even where there are errors: what is invalid fails closed in it. */
  readonly result: Result<Model>
  readonly files: readonly NamedFile[]
}

/** What the user wrote, as the Model, with all that there is to say about it. */
export function toModel(document: Document, { resolve, readText }: ModelOptions): ReadModel {
  const { report, result } = collector()
  const files = namedFiles(document, resolve, readText)
  const reading: Reading = { document, report, files, references: [] }
  const isMapping = checkOutline(reading)
  const model = isMapping ? readModel(reading) : undefined
  return { result: result(model === undefined ? undefined : freeze(model)), files: files.list() }
}

/** The keys of the file; what is under them is read one by one. */
function checkOutline(reading: Reading): boolean {
  const keys = TOP_LEVEL_KEYS.map((key) => [key, z.unknown().optional()] as const)
  const outline = z.strictObject(Object.fromEntries(keys))
  parseAt(reading, outline, [])
  return reading.document.root.kind === 'mapping'
}

function readModel(reading: Reading): Model {
  const settings = readSettings(reading)
  const binds = readBinds(reading)
  const gateways = [...readGateways(reading), ...binds.gateways]
  const routes = [
    ...readEach(reading, ['routes'], (path, index) => readRoute(reading, path, `route-${index}`)),
    ...binds.routes,
  ]
  const tcpRoutes = [
    ...readEach(reading, ['tcpRoutes'], (path, index) =>
      readTcpRoute(reading, path, `tcp-route-${index}`),
    ),
    ...binds.tcpRoutes,
  ]
  const backends = readEach(reading, ['backends'], (path, index) => ({
    thing: readBackend(reading, path, `backend-${index}`),
    path,
  }))
  const frontend = readPolicies(reading, ['frontendPolicies'], {
    sections: ['frontend'],
    level: 'frontend',
    policy: 'frontend',
  })
  const targeted = readEach(reading, ['policies'], (path) => readTargeted(reading, path)).flat()
  const special = {
    llm: readSpecial(reading, 'llm'),
    mcp: readSpecial(reading, 'mcp'),
    ui: readSpecial(reading, 'ui'),
  }

  const named = uniqueNames(reading, 'backend', backends)
  const inPlace = [...routes, ...tcpRoutes].flatMap(({ backends }) => backends)
  const whole = {
    settings,
    gateways: checkPorts(reading, uniqueNames(reading, 'gateway', gateways), settings),
    routes: uniqueNames(reading, 'route', routes.map(asThing)),
    tcpRoutes: uniqueNames(reading, 'route', tcpRoutes.map(asThing)),
    backends: [...named, ...inPlace].map((backend) => backend),
    frontend,
  }
  const model: Model = defined({ ...whole, ...special })
  return attachPolicies(reading, resolveParents(reading, resolveBackends(reading, model)), targeted)
}
