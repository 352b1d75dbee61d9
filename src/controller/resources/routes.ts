import * as z from 'zod'
import { GATEWAY_API, object, port } from './metadata.ts'

export const parentRef = z.strictObject({
  group: z.string().default(GATEWAY_API),
  kind: z.string().default('Gateway'),
  name: z.string(),
  namespace: z.string().optional(),
  sectionName: z.string().optional(),
  port: port().optional(),
})

export type ParentRef = z.output<typeof parentRef>

const refShape = {
  group: z.string().default(''),
  kind: z.string().default('Service'),
  name: z.string(),
  namespace: z.string().optional(),
  port: port().optional(),
}

export const objectBackendRef = z.strictObject(refShape)
export type ObjectBackendRef = z.output<typeof objectBackendRef>

const headerField = z.strictObject({ name: z.string(), value: z.string() })
const headerChanges = z.strictObject({
  set: z.array(headerField).optional(),
  add: z.array(headerField).optional(),
  remove: z.array(z.string()).optional(),
})

const pathModifier = z.strictObject({
  type: z.enum(['ReplaceFullPath', 'ReplacePrefixMatch']),
  replaceFullPath: z.string().optional(),
  replacePrefixMatch: z.string().optional(),
})
export type PathModifier = z.output<typeof pathModifier>

const redirect = z.strictObject({
  scheme: z.string().optional(),
  hostname: z.string().optional(),
  path: pathModifier.optional(),
  port: port().optional(),
  statusCode: z.int().default(302),
})
export type Redirect = z.output<typeof redirect>

const mirror = z.strictObject({
  backendRef: objectBackendRef,
  percent: z.int().min(0).max(100).optional(),
  fraction: z
    .strictObject({ numerator: z.int().min(0), denominator: z.int().min(1).default(100) })
    .optional(),
})
export type Mirror = z.output<typeof mirror>

const cors = z.strictObject({
  allowOrigins: z.array(z.string()).optional(),
  allowMethods: z.array(z.string()).optional(),
  allowHeaders: z.array(z.string()).optional(),
  exposeHeaders: z.array(z.string()).optional(),
  allowCredentials: z.boolean().optional(),
  maxAge: z.int().optional(),
})

/** For all kinds of routes; the translation decides which filters a kind accepts. */
const filter = z.strictObject({
  type: z.string(),
  requestHeaderModifier: headerChanges.optional(),
  responseHeaderModifier: headerChanges.optional(),
  requestRedirect: redirect.optional(),
  urlRewrite: z
    .strictObject({ hostname: z.string().optional(), path: pathModifier.optional() })
    .optional(),
  requestMirror: mirror.optional(),
  cors: cors.optional(),
  externalAuth: z.unknown().optional(),
  extensionRef: z.unknown().optional(),
})
export type Filter = z.output<typeof filter>

const backendRef = z.strictObject({
  ...refShape,
  weight: z.int().min(0).default(1),
  filters: z.array(filter).default([]),
})
export type RouteBackendRef = z.output<typeof backendRef>

const valueMatch = z.strictObject({
  type: z.string().default('Exact'),
  name: z.string(),
  value: z.string(),
})
export type ValueMatchSpec = z.output<typeof valueMatch>

const httpMatch = z.strictObject({
  path: z
    .strictObject({ type: z.string().default('PathPrefix'), value: z.string().default('/') })
    .default({ type: 'PathPrefix', value: '/' }),
  headers: z.array(valueMatch).default([]),
  queryParams: z.array(valueMatch).default([]),
  method: z.string().optional(),
})
export type HttpMatch = z.output<typeof httpMatch>

const grpcMatch = z.strictObject({
  method: z
    .strictObject({
      type: z.string().default('Exact'),
      service: z.string().optional(),
      method: z.string().optional(),
    })
    .optional(),
  headers: z.array(valueMatch).default([]),
})
export type GrpcMatch = z.output<typeof grpcMatch>

const retry = z.strictObject({
  codes: z.array(z.int()).optional(),
  attempts: z.int().optional(),
  backoff: z.string().optional(),
})

const httpRule = z.strictObject({
  name: z.string().optional(),
  matches: z.array(httpMatch).default([]),
  filters: z.array(filter).default([]),
  backendRefs: z.array(backendRef).default([]),
  timeouts: z
    .strictObject({ request: z.string().optional(), backendRequest: z.string().optional() })
    .optional(),
  retry: retry.optional(),
  sessionPersistence: z.unknown().optional(),
})
export type HttpRule = z.output<typeof httpRule>

const grpcRule = z.strictObject({
  name: z.string().optional(),
  matches: z.array(grpcMatch).default([]),
  filters: z.array(filter).default([]),
  backendRefs: z.array(backendRef).default([]),
  sessionPersistence: z.unknown().optional(),
})
export type GrpcRule = z.output<typeof grpcRule>

const streamRule = z.strictObject({
  name: z.string().optional(),
  backendRefs: z
    .array(z.strictObject({ ...refShape, weight: z.int().min(0).default(1) }))
    .default([]),
})

const shared = {
  /** Routes attach only to the Gateways that they name. */
  useDefaultGateways: z.literal('None').optional(),
  parentRefs: z.array(parentRef).default([]),
  hostnames: z.array(z.string()).default([]),
}

export const httpRoute = object({
  spec: z.strictObject({
    ...shared,
    rules: z.array(httpRule).default([{ matches: [], filters: [], backendRefs: [] }]),
  }),
})
export const grpcRoute = object({
  spec: z.strictObject({ ...shared, rules: z.array(grpcRule).default([]) }),
})
/** For both kinds: a TCPRoute has no hostnames. */
export const streamRoute = object({
  spec: z.strictObject({ ...shared, rules: z.array(streamRule).default([]) }),
})

export type HttpRouteObject = z.output<typeof httpRoute>
export type GrpcRouteObject = z.output<typeof grpcRoute>
export type StreamRouteObject = z.output<typeof streamRoute>
