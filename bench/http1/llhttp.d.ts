/** Node's own binding of llhttp, which has no types. */
declare module 'node:_http_common' {
  export class HTTPParser {
    static readonly REQUEST: number
    static readonly kOnHeadersComplete: number
    initialize(type: number, resource: object): void
    execute(bytes: Buffer): number
    [event: number]: (...parts: never[]) => number
  }
}
