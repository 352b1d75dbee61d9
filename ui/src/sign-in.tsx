import { Button, Container, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { type ApiProblem, apiPath, call, storeToken } from './api/client.ts'

interface Properties {
  /** Sign-in path of the identity provider; undefined if there is none. */
  readonly login: string | undefined
  readonly done: () => void
}

/** Sign-in page: the admin API requires a session or the token that the gateway printed. */
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
              <Button
                component="a"
                href={`${apiPath(login)}?returnTo=${encodeURIComponent(place())}`}
              >
                Sign in with your account
              </Button>
              <Divider label="or" />
            </>
          )}
          <Text>
            This gateway requires a token. It printed one at startup, unless its operator configured
            one. The token is stored only in this tab.
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

/** The requested page. */
function place(): string {
  return `${location.pathname}${location.search}`
}
