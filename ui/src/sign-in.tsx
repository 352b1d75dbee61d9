import { Button, Container, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { type ApiProblem, call, storeToken } from './api/client.ts'

interface Properties {
  /** Where to sign in with the identity provider; undefined: there is none. */
  readonly login: string | undefined
  readonly done: () => void
}

/** The admin API wants a session, or the token that the gateway printed. */
export function SignIn({ login, done }: Properties) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    storeToken(token.trim())
    try {
      await call('/api/health')
      done()
    } catch (error) {
      const { status, message } = error as ApiProblem
      setProblem(status === 401 ? 'The gateway rejected this token.' : message)
    }
  }
  return (
    <Container size="xs" py="xl" component="main">
      <form onSubmit={submit}>
        <Stack>
          <Title order={1} size="h2">
            Sign in to Portcullis
          </Title>
          {login !== undefined && (
            <>
              <Button component="a" href={`${login}?returnTo=${encodeURIComponent(place())}`}>
                Sign in with your account
              </Button>
              <Divider label="or" />
            </>
          )}
          <Text>
            This gateway asks who you are. It printed a token when it started, unless its operator
            chose one; it is kept in this tab only.
          </Text>
          <PasswordInput
            label="Token"
            value={token}
            error={problem}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <Button
            type="submit"
            variant={login === undefined ? 'filled' : 'default'}
            disabled={token.trim() === ''}
          >
            Sign in
          </Button>
        </Stack>
      </form>
    </Container>
  )
}

/** The page that was asked for. */
function place(): string {
  return `${location.pathname}${location.search}`
}
