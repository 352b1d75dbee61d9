import { HeaderMap } from '../cel/values/header-map.ts'

/** The headers of a message as seen by rules and routes: by name in lower case. */
export abstract class HeaderView extends HeaderMap {
  /** All values of the name joined (cookies with `; `, others with `, `); undefined if absent. */
  abstract override get(name: unknown): string | undefined
  abstract override keys(): Iterable<string>
  abstract override all(name: string): readonly string[] | undefined
}

/** The part of it that is needed to look up single headers. */
export type HeaderReader = Pick<HeaderView, 'get' | 'keys'>
