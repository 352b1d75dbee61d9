import { type ProtobufValue, readProtobuf } from '../../src/telemetry/protobuf-reader.ts'

export interface SeenSpan {
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
}

/** By the numbers of opentelemetry.proto.trace.v1. */
export function spansIn(bodies: readonly Buffer[]): readonly SeenSpan[] {
  const inner = (value: ProtobufValue, field: number) =>
    readProtobuf(value as Uint8Array)?.get(field) ?? []
  const text = (value: ProtobufValue | undefined, as: BufferEncoding = 'utf8') =>
    value instanceof Uint8Array ? Buffer.from(value).toString(as) : ''
  return bodies
    .flatMap((body) => inner(body, 1))
    .flatMap((resource) => inner(resource, 2))
    .flatMap((scope) => inner(scope, 2))
    .map((span) => ({
      spanId: text(inner(span, 2)[0], 'hex'),
      parentId: text(inner(span, 4)[0], 'hex'),
      name: text(inner(span, 5)[0]),
      attributes: Object.fromEntries(
        inner(span, 9).map((pair) => {
          const value = inner(pair, 2)[0] as ProtobufValue
          const [number] = inner(value, 3)
          const own = number === undefined ? text(inner(value, 1)[0]) : Number(number)
          return [text(inner(pair, 1)[0]), own]
        }),
      ),
    }))
}
