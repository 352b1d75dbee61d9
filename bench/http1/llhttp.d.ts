/** Node's internal llhttp binding, which ships no types. */
declare module 'node:_http_common' {
  export class HTTPParser {
    static readonly REQUEST: number
    static readonly kOnHeadersComplete: number
    initialize(type: number, resource: object): void
    execute(bytes: Buffer): number
    [event: number]: (...parts: never[]) => number
  }
}
