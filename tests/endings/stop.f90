! ender.c as a program in Fortran, which can end by STOP and ERROR STOP.
subroutine ender_stop(status) bind(c)
    use iso_c_binding
    integer(c_int), value :: status
    stop status
end subroutine

subroutine ender_error_stop(status) bind(c)
    use iso_c_binding
    integer(c_int), value :: status
    error stop status
end subroutine

program ender
    use iso_c_binding
    interface
        integer(c_int) function ender_run() bind(c)
            use iso_c_binding
        end function
        subroutine leave(status) bind(c, name="exit")
            use iso_c_binding
            integer(c_int), value :: status
        end subroutine
    end interface
    call leave(ender_run())
end program
