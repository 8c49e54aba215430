import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, redirect } from '@tanstack/react-router'
import { isProblem } from '../api/problem.ts'
import { sessionQuery } from '../api/session.ts'
import { FrameError, NotFound } from '../components/route-states.tsx'
import { Frame } from './Frame.tsx'

export const root = createRootRouteWithContext<{ queryClient: QueryClient }>()()

/** Every view inside the frame. Without a session the sign-in page opens, and afterwards the place that was asked for. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Frame,
  errorComponent: FrameError,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(sessionQuery)
    } catch (error) {
      if (isProblem(error) && error.status === 401) throw redirect({ to: '/sign-in', search: { to: location.href } })
      throw error
    }
  },
})

/** An address that belongs to no view: said inside the frame, from where all views can be reached. */
export const unknownRoute = createRoute({ getParentRoute: () => signedIn, path: '$', component: NotFound })
