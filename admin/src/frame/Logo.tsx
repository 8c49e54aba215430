import icon from '../icon.svg'

export const Logo = () => <img src={icon} width={26} height={26} alt="" />
